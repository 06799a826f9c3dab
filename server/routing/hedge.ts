/**
 * Hedged requests, which reduce tail latency. For embeddings only, because all targets of a model return the same
 * vectors. A second request goes to another target when the first takes longer than the p95 of its target. The first
 * attempt is canceled when it exceeds its attempt timeout and another target is available. If no other target is
 * available, the first attempt goes on, and every 250 ms the gateway looks again for an available target (no request is
 * sent for that). A request with the usual latency costs one timer more.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import { minTimeoutMs } from "./health/latency-stats.ts";
import { isUnsent } from "./retry-policy.ts";

/** The shortest hedge delay: below this the clock and the event loop are as slow as the upstream. */
const minHedgeDelayMs = 2;
/** How often the gateway looks again for an available target after all running attempts have timed out. */
const pollMs = 250;
/**
 * The interval at which the timeout is computed. It is the shortest timeout, so a request with the usual latency
 * computes none. Computed again, because after a start no latency is known, and each first attempt would keep the long
 * timeout that covers loading a model.
 */
const timeoutCheckMs = minTimeoutMs;

export interface HedgedAttempt<T> {
  /** After this a hedge may start. Undefined: the latency is not known, so none does. */
  readonly hedgeAfterMs: number | undefined;
  /** The attempt timeout, at least `minTimeoutMs`. More latencies may be known when it is computed again. */
  timeoutMs(): number;
  /**
   * How long the attempt may continue after another has won, because its outcome is a probe result. 0: the attempt is
   * canceled at once.
   */
  readonly lingerMs: number;
  run(signal: AbortSignal): Promise<T>;
}

export interface HedgedRequestOptions<T, R extends HedgedAttempt<T>> {
  /** Starts the hedge. Undefined: none is allowed. Called at most once. */
  hedge(): R | undefined;
  /**
   * Takes a retry from the budget to replace an attempt that timed out, which is then canceled. False: no retry or no
   * target is available.
   */
  takeFailover(): boolean;
  /** One more attempt while all running attempts have timed out. Undefined: none is possible now. */
  extra(running: readonly R[]): R | undefined;
  /** An error that every other target would repeat. */
  isFinal(error: unknown): boolean;
  /** Called before the promise settles, with the attempt whose outcome it is. */
  onSettled(attempt: R): void;
  /** An attempt was wasted: another one won, or this one failed while another was running. */
  onWasted(error?: unknown): void;
  readonly signal: AbortSignal;
  /**
   * One target of the model can serve the request. The first attempt is then never canceled for another target: it has
   * the signal of the request and needs no abort controller, and `cancelAtEnd` cancels it when the request ends.
   */
  readonly hasOneTarget: boolean;
  /**
   * Called when the outcome is known and the first attempt, which has the signal of the request, still runs: the
   * attempt is canceled when the request ends.
   */
  cancelAtEnd(): void;
  readonly timers: Timers;
}

/**
 * The first attempt that succeeds wins and the others are canceled. If all fail, the first attempt's error is thrown
 * or, if that is an attempt timeout or was never sent, the first error of an upstream. A final error (`isFinal`) is
 * thrown at once when all other attempts have timed out.
 */
export const hedgedRequest = <T, R extends HedgedAttempt<T>>(
  first: R,
  options: HedgedRequestOptions<T, R>,
): Promise<T> => new HedgedRequest(first, options).start();

interface RunningAttempt<R> {
  readonly attempt: R;
  /** Undefined: the first attempt, if it has the signal of the request. */
  readonly cancel: AbortController | undefined;
  timer: unknown;
  /** The attempt exceeded its timeout and is still running. */
  timedOut: boolean;
}

class HedgedRequest<T, R extends HedgedAttempt<T>> {
  readonly #first: R;
  readonly #options: HedgedRequestOptions<T, R>;
  readonly #outcome = Promise.withResolvers<T>();
  /** In start order. */
  readonly #running: RunningAttempt<R>[] = [];
  #pollTimer: unknown;
  /** The listener of the request's signal, once an attempt has an abort controller. */
  #onAbort: (() => void) | undefined;
  #settled = false;
  #failure: { readonly error: unknown; readonly attempt: R } | undefined;

  constructor(first: R, options: HedgedRequestOptions<T, R>) {
    this.#first = first;
    this.#options = options;
  }

  start(): Promise<T> {
    const first = this.#first;
    const { signal, timers, hasOneTarget } = this.#options;
    const running = this.#launch(first, hasOneTarget ? undefined : this.#newController());
    if (first.hedgeAfterMs === undefined) this.#checkTimeoutIn(timeoutCheckMs, running, 0);
    else {
      const hedgeDelayMs = Math.max(minHedgeDelayMs, first.hedgeAfterMs);
      running.timer = timers.start(hedgeDelayMs, () => this.#onSlow(running, hedgeDelayMs));
    }
    if (signal.aborted) this.#cancelAll();
    return this.#outcome.promise;
  }

  #launch(attempt: R, cancel: AbortController | undefined): RunningAttempt<R> {
    const running: RunningAttempt<R> = { attempt, cancel, timer: undefined, timedOut: false };
    this.#running.push(running);
    attempt.run(cancel?.signal ?? this.#options.signal).then(
      (response) => this.#onSuccess(running, response),
      (error) => this.#onFailure(running, error),
    );
    return running;
  }

  #newController(): AbortController {
    if (!this.#onAbort) {
      this.#onAbort = () => this.#cancelAll();
      this.#options.signal.addEventListener("abort", this.#onAbort);
    }
    return new AbortController();
  }

  /** `elapsedMs`: the milliseconds that the attempt has already run. */
  #checkTimeoutIn(ms: number, running: RunningAttempt<R>, elapsedMs: number): void {
    running.timer = this.#options.timers.start(ms, () =>
      this.#checkTimeout(running, elapsedMs + ms),
    );
  }

  #checkTimeout(running: RunningAttempt<R>, elapsedMs: number): void {
    const leftMs = running.attempt.timeoutMs() - elapsedMs;
    if (leftMs <= 0) this.#onTimeout(running);
    else this.#checkTimeoutIn(Math.min(leftMs, timeoutCheckMs), running, elapsedMs);
  }

  #onSlow(running: RunningAttempt<R>, elapsedMs: number): void {
    this.#checkTimeout(running, elapsedMs);
    const other = this.#options.hedge();
    if (other) this.#checkTimeout(this.#launch(other, this.#newController()), 0);
  }

  #onTimeout(running: RunningAttempt<R>): void {
    running.timedOut = true;
    if (this.#pollTimer !== undefined) return;
    if (this.#running.some(({ timedOut }) => !timedOut)) running.cancel?.abort(attemptTimeout());
    else if (this.#options.takeFailover()) running.cancel?.abort(attemptTimeout());
    else this.#poll();
  }

  #poll(): void {
    const { timers } = this.#options;
    this.#pollTimer = timers.start(pollMs, () => this.#poll());
    if (this.#running.some(({ timedOut }) => !timedOut)) return;
    const more = this.#options.extra(this.#running.map(({ attempt }) => attempt));
    if (!more) return;
    // The oldest attempt is never canceled: the request itself may be slow, and not the target.
    for (const { cancel } of this.#running.slice(1)) cancel?.abort(attemptTimeout());
    this.#checkTimeout(this.#launch(more, this.#newController()), 0);
  }

  #onSuccess(running: RunningAttempt<R>, response: T): void {
    this.#remove(running);
    if (this.#settled) return;
    this.#end(running.attempt);
    this.#outcome.resolve(response);
  }

  #onFailure(running: RunningAttempt<R>, error: unknown): void {
    this.#remove(running);
    if (this.#settled) return;
    const { attempt } = running;
    const failed = { error, attempt };
    const earlier = this.#failure ?? failed;
    // Of errors with the same rank, that of the first attempt is preferred.
    const rankDifference = rankOf(error) - rankOf(earlier.error);
    const isPreferred = rankDifference < 0 || (rankDifference === 0 && attempt === this.#first);
    this.#failure = isPreferred ? failed : earlier;
    if (this.#running.length > 0) this.#options.onWasted(error);
    // If all other attempts have timed out and this error would be the same everywhere, waiting longer is useless.
    const isDecided =
      this.#running.every(({ timedOut }) => timedOut) && this.#options.isFinal(error);
    if (this.#running.length > 0 && !isDecided) return;
    const failure = isDecided ? failed : this.#failure;
    if (failure !== failed && this.#running.length === 0) this.#options.onWasted(error);
    this.#end(failure.attempt);
    this.#outcome.reject(failure.error);
  }

  #remove(running: RunningAttempt<R>): void {
    this.#options.timers.stop(running.timer);
    if (this.#running.length === 1) this.#running.pop();
    else this.#running.splice(this.#running.indexOf(running), 1);
  }

  #end(attempt: R): void {
    const { signal, timers } = this.#options;
    this.#settled = true;
    if (this.#pollTimer !== undefined) timers.stop(this.#pollTimer);
    if (this.#onAbort) signal.removeEventListener("abort", this.#onAbort);
    this.#options.onSettled(attempt);
    for (const running of this.#running) {
      this.#options.onWasted();
      this.#cancelLoser(running);
    }
  }

  #cancelLoser(running: RunningAttempt<R>): void {
    const { attempt, cancel, timedOut } = running;
    const { timers } = this.#options;
    timers.stop(running.timer);
    if (!cancel) this.#options.cancelAtEnd();
    else if (timedOut) cancel.abort(attemptTimeout());
    else if (attempt.lingerMs === 0) cancel.abort(otherResponded);
    else running.timer = timers.start(attempt.lingerMs, () => cancel.abort(attemptTimeout()));
  }

  #cancelAll(): void {
    const { reason } = this.#options.signal;
    for (const { cancel } of this.#running) cancel?.abort(reason);
  }
}

const otherResponded = new Error("another target responded first");

/** An attempt exceeded its timeout. Clients see it only if no other target can be tried. */
class AttemptTimeout extends GatewayError {
  constructor() {
    super("upstream_timeout", "The upstream did not respond within its usual response time.");
  }
}

const attemptTimeout = (): GatewayError => new AttemptTimeout();

/**
 * Which of two errors the client gets: the lower rank. The error of an upstream is preferred to that of a request that
 * was never sent, which would say that no upstream was called, and to our own timeout.
 */
function rankOf(error: unknown): number {
  if (error instanceof AttemptTimeout) return 2;
  return isUnsent(error) ? 1 : 0;
}

/** The attempt was canceled because it exceeded its timeout, and for no other reason. */
export const wasCutOff = (signal: AbortSignal): boolean =>
  signal.aborted && signal.reason instanceof AttemptTimeout;

/** Hedge budget of a model: every request earns a share of a hedge; unused hedges accumulate up to `max`. */
export class HedgeBudget {
  readonly #share: number;
  readonly #max: number;
  #available = 0;

  constructor(share: number, max = 10) {
    this.#share = share;
    this.#max = max;
  }

  earn(): void {
    this.#available = Math.min(this.#max, this.#available + this.#share);
  }

  get hasHedge(): boolean {
    return this.#available >= 1;
  }

  /** False: the budget is used up. */
  spend(): boolean {
    if (!this.hasHedge) return false;
    this.#available--;
    return true;
  }
}
