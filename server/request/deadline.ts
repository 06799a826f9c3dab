/**
 * Request timeout: one signal per request that fires at the timeout or when the client disconnects. The signal and its
 * timer are created when a stage first needs them: a response from the cache needs neither, and an abort controller
 * with its listeners costs a cached request a fifth of its CPU.
 */

import { GatewayError } from "../lib/gateway-error.ts";

export interface DeadlineOptions {
  /** Its signal fires when the client disconnects. Undefined: the request continues without its client. */
  readonly client: { readonly signal: AbortSignal } | undefined;
  readonly timeoutMs: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export class Deadline {
  readonly #options: DeadlineOptions;
  readonly #startedAt: number;
  #controller: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasEnded = false;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.#startedAt = options.clock();
  }

  get signal(): AbortSignal {
    return (this.#controller ?? this.#start()).signal;
  }

  /** The signal, if a stage has used it. */
  get usedSignal(): AbortSignal | undefined {
    return this.#controller?.signal;
  }

  /** Must be called when the request ends, on every path. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    if (this.#controller) {
      this.#options.client?.signal.removeEventListener("abort", this.#onDisconnect);
    }
  }

  #start(): AbortController {
    const { client, timeoutMs, clock } = this.#options;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#hasEnded) return controller;
    const leftMs = timeoutMs - (clock() - this.#startedAt);
    this.#timer = setTimeout(() => controller.abort(timeoutError(timeoutMs)), Math.max(0, leftMs));
    if (client?.signal.aborted) this.#onDisconnect();
    else client?.signal.addEventListener("abort", this.#onDisconnect);
    return controller;
  }

  readonly #onDisconnect = (): void => this.#controller?.abort(clientClosedError());
}

export const timeoutError = (ms: number): GatewayError =>
  new GatewayError("upstream_timeout", `The upstream did not respond within ${ms / 1000} s.`);

export const clientClosedError = (): GatewayError =>
  new GatewayError("client_closed", "The client closed the connection.");
