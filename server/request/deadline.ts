/**
 * Request timeout and cancellation: one AbortSignal per request, aborted at the timeout or when the client disconnects.
 * The signal and its timer are created when a stage first needs them: a response from the cache needs neither, and an
 * abort controller takes about a microsecond, and more in the garbage collector.
 */
import { type ErrorDetails, GatewayError } from "../lib/gateway-error.ts";

/** The client of a request, whose disconnect ends the request. */
export interface RequestClient {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Sets the one listener that is called when the client disconnects, at once if it already has. A listener of the
   * signal would need an abort controller for every request, although most requests are never canceled.
   */
  setDisconnectListener(listener: DisconnectListener | undefined): void;
}

/** An object and not a function: the deadline of a request is its own listener, without a closure for each request. */
export interface DisconnectListener {
  /** `reason`: why the request that this one is part of has ended. If absent, the client closed the connection. */
  onDisconnect(reason?: GatewayError): void;
}

/**
 * The client of a request without HTTP: its disconnect is the abort of a signal, which may also be the timeout of the
 * request that this one is part of.
 */
export class SignalClient implements RequestClient {
  readonly signal: AbortSignal;
  #listener: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  setDisconnectListener(listener: DisconnectListener | undefined): void {
    if (this.#listener) this.signal.removeEventListener("abort", this.#listener);
    this.#listener =
      listener &&
      (() => {
        const { reason } = this.signal;
        listener.onDisconnect(reason instanceof GatewayError ? reason : undefined);
      });
    if (!this.#listener) return;
    if (this.signal.aborted) this.#listener();
    else this.signal.addEventListener("abort", this.#listener);
  }
}

interface DeadlineOptions {
  readonly client: RequestClient;
  readonly timeoutMs: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export class Deadline implements DisconnectListener {
  readonly #options: DeadlineOptions;
  readonly #startedAt: number;
  #controller: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #abortsAtEnd = false;
  #hasEnded = false;
  #endListeners: (() => void)[] | undefined;

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

  /** The milliseconds until the timeout. */
  get leftMs(): number {
    const { timeoutMs, clock } = this.#options;
    return Math.max(0, timeoutMs - (clock() - this.#startedAt));
  }

  /**
   * Cancels the attempts that still run when the request ends, for example hedged ones that another attempt overtook.
   */
  abortAtEnd(): void {
    this.#abortsAtEnd = true;
  }

  /** Calls `listener` when the request ends: for resources that are held until then. */
  onEnd(listener: () => void): void {
    this.#endListeners ??= [];
    this.#endListeners.push(listener);
  }

  /** Must be called when the request ends, on every path. */
  end(): void {
    this.#hasEnded = true;
    const listeners = this.#endListeners;
    this.#endListeners = undefined;
    try {
      if (listeners) callAll(listeners);
    } finally {
      this.#endSignal();
    }
  }

  #endSignal(): void {
    if (!this.#controller) return;
    clearTimeout(this.#timer);
    this.#options.client.setDisconnectListener(undefined);
    if (this.#abortsAtEnd) this.#controller.abort(requestEnded);
  }

  #start(): AbortController {
    const { client } = this.#options;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#hasEnded) return controller;
    this.#timer = setTimeout(Deadline.#onTimeout, this.leftMs, this);
    client.setDisconnectListener(this);
    return controller;
  }

  static #onTimeout(deadline: Deadline): void {
    deadline.#controller?.abort(new RequestTimeout(deadline.#options.timeoutMs));
  }

  onDisconnect(reason = clientClosedError()): void {
    this.#controller?.abort(reason);
  }
}

/** Calls each listener, also after another has thrown. */
function callAll(listeners: readonly (() => void)[]): void {
  const [first, ...others] = listeners;
  try {
    first?.();
  } finally {
    if (others.length > 0) callAll(others);
  }
}

const requestEnded = new Error("the request has ended");

class RequestTimeout extends GatewayError {
  constructor(ms: number) {
    super("upstream_timeout", `The upstream did not respond within ${ms / 1000} s.`);
  }
}

/** Why the signal ended a wait in a queue. `wasSent`: an upstream may have received the request before the wait. */
export function queueAbortError({ reason }: AbortSignal, wasSent: boolean): GatewayError {
  const error = reason instanceof GatewayError ? reason : clientClosedError();
  if (wasSent) return error;
  if (error instanceof RequestTimeout) return timedOutInQueue();
  return error.kind === "client_closed" ? clientClosedError({ notSent: true }) : error;
}

export const timedOutInQueue = (): GatewayError =>
  new GatewayError(
    "upstream_timeout",
    "Timed out while queued: no upstream was called. Please retry your request after a brief delay.",
    { notSent: true },
  );

export const clientClosedError = (details: { readonly notSent?: true } = {}): GatewayError =>
  new GatewayError("client_closed", "The client closed the connection.", details);

/** The gateway ends a request that was still in flight after the drain. */
export const shuttingDownError = (details: ErrorDetails = {}): GatewayError =>
  new GatewayError(
    "shutting_down",
    "The gateway is shutting down, and ended this request before it was complete.",
    details,
  );

/**
 * The deadlines of image requests that were admitted, until their responses are delivered or stored. An upstream bills
 * them, so the gateway finishes them before it stops.
 */
export class AdmittedImages {
  readonly #deadlines = new Set<Deadline>();
  #isClosed = false;

  get count(): number {
    return this.#deadlines.size;
  }

  /** The milliseconds until the last request timeout. */
  get leftMs(): number {
    return Math.max(0, ...[...this.#deadlines].map(({ leftMs }) => leftMs));
  }

  /** Throws GatewayError once the gateway admits no more images. */
  add(deadline: Deadline): void {
    if (this.#isClosed) throw shuttingDownError({ notSent: true });
    this.#deadlines.add(deadline);
  }

  delete(deadline: Deadline): void {
    this.#deadlines.delete(deadline);
  }

  /** From now on no image request is admitted, and so none is sent to an upstream that was not sent yet. */
  close(): void {
    this.#isClosed = true;
  }
}
