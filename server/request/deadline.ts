/** Request timeout: one signal per request that fires at the timeout or when the client disconnects. */

import { GatewayError } from "../lib/gateway-error.ts";

export class Deadline {
  readonly #controller = new AbortController();
  readonly #client: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout>;

  /** `client`: fires when the client disconnects. Undefined: the request continues without its client. */
  constructor(client: AbortSignal | undefined, ms: number) {
    this.#client = client;
    this.#timer = setTimeout(() => this.#controller.abort(timeoutError(ms)), ms);
    if (client?.aborted) this.#onDisconnect();
    else client?.addEventListener("abort", this.#onDisconnect);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Must be called when the request ends, on every path. */
  end(): void {
    clearTimeout(this.#timer);
    this.#client?.removeEventListener("abort", this.#onDisconnect);
  }

  readonly #onDisconnect = (): void => this.#controller.abort(clientClosedError());
}

export const timeoutError = (ms: number): GatewayError =>
  new GatewayError("upstream_timeout", `The upstream did not respond within ${ms / 1000} s.`);

export const clientClosedError = (): GatewayError =>
  new GatewayError("client_closed", "The client closed the connection.");
