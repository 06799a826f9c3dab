/**
 * Abort signals without an AbortController: making one costs several microseconds, much of the budget of a small request.
 * Requests carry an AbortSource, and a native AbortSignal is made only for APIs that need one.
 */

export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(
    type: "abort",
    listener: () => void,
    options?: { readonly once?: boolean },
  ): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Signal and controller in one. Aborts once, and calls its listeners once, in the order they were added. */
export class AbortSource implements AbortSignalLike {
  aborted = false;
  reason: unknown;
  /** Called before an abort. Returns true to defer the abort: the function's owner then aborts later, where still needed. */
  deferAbort: ((reason: unknown) => boolean) | undefined;
  #listeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;

  abort(reason: unknown): void {
    if (this.aborted || this.deferAbort?.(reason)) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
    this.#controller?.abort(reason);
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.aborted) return;
    if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** For `fetch` and other APIs that need an AbortSignal. */
  get nativeSignal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }
}

export function toAbortSignal(signal: AbortSignalLike): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  if (signal instanceof AbortSource) return signal.nativeSignal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
