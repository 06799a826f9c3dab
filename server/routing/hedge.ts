/**
 * Hedged requests, which reduce tail latency. For embeddings of models with several targets only, because all targets
 * of a model return the same vectors. A second request goes to another target when the first takes longer than the p95
 * of its target. An attempt is canceled when it exceeds its attempt timeout and another target is available; otherwise
 * it goes on. A request with the usual latency costs one timer more.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import { minTimeoutMs } from "./health/latency-stats.ts";
import { isUnsent } from "./retry-policy.ts";

/** The shortest hedge delay: below this the clock and the event loop are as slow as the upstream. */
const minHedgeDelayMs = 2;

export interface HedgedAttempt<T> {
  /** After this a hedge may start. Undefined if the latency is not known, so none does. */
  readonly hedgeAfterMs: number | undefined;
  /** A half-open probe: it continues after another attempt has won, because its outcome is needed. */
  readonly isProbe: boolean;
  /** The attempt timeout, at least `minTimeoutMs`. */
  timeoutMs(): number;
  run(signal: AbortSignal): Promise<T>;
  /** Called before the outcome settles: another attempt has won while this one was running. */
  onWasted(): void;
}

export interface HedgeOptions<R> {
  readonly signal: AbortSignal;
  readonly timers: Timers;
  /** Starts the hedge. Undefined if none is allowed. Called at most once. */
  hedge(): R | undefined;
  /**
   * Takes a retry from the budget to replace an attempt that timed out, which is then canceled. False: no retry or no
   * target is available.
   */
  takeFailover(): boolean;
  /** An error that every other target would repeat. */
  isFinal(error: unknown): boolean;
  /** Called before the promise settles, with the attempt whose outcome it is. */
  onSettled(attempt: R): void;
}

/**
 * The first attempt that succeeds wins and the others are canceled. If all fail, the first attempt's error is thrown
 * or, if that is an attempt timeout or was never sent, the first error of an upstream. A final error (`isFinal`) is
 * thrown at once when all other attempts have timed out.
 */
export const hedgedRequest = <T, R extends HedgedAttempt<T>>(
  first: R,
  options: HedgeOptions<R>,
): Promise<T> => new HedgedRequest<T, R>(first, options).start();

interface RunningAttempt<R> {
  readonly attempt: R;
  readonly cancel: AbortController;
  timer: unknown;
  /** The attempt exceeded its timeout and is still running. */
  timedOut: boolean;
}

class HedgedRequest<T, R extends HedgedAttempt<T>> {
  readonly #first: R;
  readonly #options: HedgeOptions<R>;
  readonly #outcome = Promise.withResolvers<T>();
  /** In start order. */
  readonly #running: RunningAttempt<R>[] = [];
  #settled = false;
  #failure: { readonly error: unknown; readonly attempt: R } | undefined;

  constructor(first: R, options: HedgeOptions<R>) {
    this.#first = first;
    this.#options = options;
  }

  start(): Promise<T> {
    const { signal, timers } = this.#options;
    const { hedgeAfterMs } = this.#first;
    signal.addEventListener("abort", this.#cancelAll);
    const running = this.#launch(this.#first);
    // The timeout is computed only for a slow attempt, after the hedge delay or the shortest timeout.
    const delayMs =
      hedgeAfterMs === undefined ? minTimeoutMs : Math.max(minHedgeDelayMs, hedgeAfterMs);
    running.timer = timers.start(delayMs, () => {
      this.#startTimeout(running, delayMs);
      const other = hedgeAfterMs === undefined ? undefined : this.#options.hedge();
      if (other) this.#startTimeout(this.#launch(other), 0);
    });
    if (signal.aborted) this.#cancelAll();
    return this.#outcome.promise;
  }

  #launch(attempt: R): RunningAttempt<R> {
    const cancel = new AbortController();
    const running: RunningAttempt<R> = { attempt, cancel, timer: undefined, timedOut: false };
    this.#running.push(running);
    attempt.run(cancel.signal).then(
      (response) => this.#onSuccess(running, response),
      (error) => this.#onFailure(running, error),
    );
    return running;
  }

  /** `elapsedMs`: the milliseconds that the attempt has already run. */
  #startTimeout(running: RunningAttempt<R>, elapsedMs: number): void {
    const leftMs = running.attempt.timeoutMs() - elapsedMs;
    running.timer = this.#options.timers.start(leftMs, () => this.#onTimeout(running));
  }

  #onTimeout(running: RunningAttempt<R>): void {
    running.timedOut = true;
    const isReplaced = this.#settled || this.#running.some(({ timedOut }) => !timedOut);
    if (isReplaced) running.cancel.abort(new AttemptTimeout());
    else if (this.#options.takeFailover())
      for (const { cancel } of this.#running) cancel.abort(new AttemptTimeout());
    // Another target may become available before this one responds.
    else running.timer = this.#options.timers.start(minTimeoutMs, () => this.#onTimeout(running));
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
    // If all other attempts have timed out and this error would be the same everywhere, waiting longer is useless.
    const isDecided =
      this.#running.every(({ timedOut }) => timedOut) && this.#options.isFinal(error);
    if (this.#running.length > 0 && !isDecided) return;
    const failure = isDecided ? failed : this.#failure;
    this.#end(failure.attempt);
    this.#outcome.reject(failure.error);
  }

  #remove(running: RunningAttempt<R>): void {
    this.#options.timers.stop(running.timer);
    this.#running.splice(this.#running.indexOf(running), 1);
  }

  #end(winner: R): void {
    this.#settled = true;
    this.#options.signal.removeEventListener("abort", this.#cancelAll);
    this.#options.onSettled(winner);
    for (const { attempt, cancel, timedOut, timer } of this.#running) {
      attempt.onWasted();
      // The timeout of a probe is still running, and cancels it.
      if (attempt.isProbe && !timedOut) continue;
      this.#options.timers.stop(timer);
      cancel.abort(timedOut ? new AttemptTimeout() : otherResponded);
    }
  }

  readonly #cancelAll = (): void => {
    for (const { cancel } of this.#running) cancel.abort(this.#options.signal.reason);
  };
}

const otherResponded = new Error("another target responded first");

/** An attempt exceeded its timeout. Clients see it only if no other target can be tried. */
class AttemptTimeout extends GatewayError {
  constructor() {
    super("upstream_timeout", "The upstream did not respond within its usual response time.");
  }
}

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
