/**
 * What ends a piece of work early. An AbortSignal is one; making an AbortController costs several microseconds,
 * which is much of what a small call may cost, so calls carry this and make a real one only for those who need it.
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

/** Ends once. Listeners hear it once, in the order they came. */
export class AbortSource implements AbortSignalLike {
  aborted = false;
  reason: unknown;
  /** Asked before it ends. True: not now; whoever says so ends it later, if it is still to end. */
  deferAbort: ((reason: unknown) => boolean) | undefined;
  #listeners: (() => void)[] | undefined;
  #real: AbortController | undefined;

  abort(reason: unknown): void {
    if (this.aborted || this.deferAbort?.(reason)) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
    this.#real?.abort(reason);
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

  /** For `fetch` and its like. */
  get nativeSignal(): AbortSignal {
    if (!this.#real) {
      this.#real = new AbortController();
      if (this.aborted) this.#real.abort(this.reason);
    }
    return this.#real.signal;
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
