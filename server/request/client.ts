/** The client of a request, whose disconnect ends the request. */

export interface RequestClient {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Sets the one function that is called when the client disconnects, at once if it already has. A listener of the
   * signal would cost every request an abort controller.
   */
  setDisconnectListener(listener: (() => void) | undefined): void;
}

/** The client of a request without HTTP: its disconnect is the abort of a signal. */
export class SignalClient implements RequestClient {
  readonly signal: AbortSignal;
  #listener: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  setDisconnectListener(listener: (() => void) | undefined): void {
    if (this.#listener) this.signal.removeEventListener("abort", this.#listener);
    this.#listener = listener;
    if (!listener) return;
    if (this.signal.aborted) listener();
    else this.signal.addEventListener("abort", listener);
  }
}
