/**
 * Hedged requests, for embeddings, which are the same from every target of a model: a second request goes to another
 * target when the first is slower than its p95, and the first is canceled when it exceeds its timeout. While no other
 * target is available the first attempt continues, and availability is polled until one is. A request that is answered
 * in its usual time pays for one timer and nothing else.
 */

import { type AbortSignalLike, AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";

/** The shortest hedge delay: below this the clock and the event loop are as slow as the upstream. */
const minHedgeDelayMs = 2;
/** How often available targets are polled after all running attempts have timed out. */
const pollMs = 250;
/** After a start no latency is known, and each first attempt would get the long timeout that covers loading a model. So the timeout is computed again at this interval. */
const timeoutRecheckMs = 1000;

export interface HedgedAttempt<T> {
  /** After this a hedge may start. Undefined: the latency is not known, so none does. */
  readonly hedgeAfterMs: number | undefined;
  /** The attempt timeout. Computed again during a long wait: more latencies may be known by then. */
  timeoutMs(): number;
  /** How long the attempt may continue after another has won, because its outcome is a probe result. 0: it is canceled at once. */
  readonly lingerMs: number;
  run(signal: AbortSource): Promise<T>;
}

export interface HedgedRequestOptions<T, R extends HedgedAttempt<T>> {
  readonly first: R;
  /** Starts the hedge. Undefined: none is allowed. Called at most once. */
  hedge(): R | undefined;
  /** Takes a retry from the budget to replace an attempt that timed out, which is then canceled. False: no retry or no target is available. */
  takeFailover(): boolean;
  /** One more attempt while all running ones have timed out. Undefined: none is possible now. */
  extra(running: readonly R[]): R | undefined;
  /** An error that every other target would repeat. */
  isFinal(error: unknown): boolean;
  /** Called before the promise settles, with the attempt whose outcome it is. */
  onSettled(runner: R): void;
  /** An attempt was wasted: another one won, or this one failed while another was running. */
  onWasted(error?: unknown): void;
  readonly signal: AbortSignalLike;
  readonly timers: Timers;
}

/** The first attempt that succeeds wins and the others are canceled. If all fail, the first attempt's error is thrown. */
export const hedgedRequest = <T, R extends HedgedAttempt<T>>(
  race: HedgedRequestOptions<T, R>,
): Promise<T> => new HedgedRequest(race).start();

interface RunningAttempt<R> {
  readonly attempt: R;
  readonly cancel: AbortSource;
  timer: unknown;
  /** It exceeded its timeout and is still running. */
  timedOut: boolean;
}

class HedgedRequest<T, R extends HedgedAttempt<T>> {
  readonly #options: HedgedRequestOptions<T, R>;
  readonly #outcome = Promise.withResolvers<T>();
  /** In start order. */
  readonly #running: RunningAttempt<R>[] = [];
  #pollTimer: unknown;
  #settled = false;
  #failure: { readonly error: unknown; readonly runner: R } | undefined;

  constructor(race: HedgedRequestOptions<T, R>) {
    this.#options = race;
  }

  start(): Promise<T> {
    const { first, signal, timers } = this.#options;
    signal.addEventListener("abort", this.#cancelAll);
    const each = this.#launch(first);
    if (first.hedgeAfterMs === undefined) this.#armTimeout(each, 0);
    else {
      const usual = Math.max(minHedgeDelayMs, first.hedgeAfterMs);
      each.timer = timers.start(usual, () => this.#onSlow(each, usual));
    }
    if (signal.aborted) this.#cancelAll();
    return this.#outcome.promise;
  }

  #launch(runner: R): RunningAttempt<R> {
    const each: RunningAttempt<R> = {
      attempt: runner,
      cancel: new AbortSource(),
      timer: undefined,
      timedOut: false,
    };
    this.#running.push(each);
    runner.run(each.cancel).then(
      (reply) => this.#onSuccess(each, reply),
      (error) => this.#onFailure(each, error),
    );
    return each;
  }

  /** `ran`: the milliseconds that the attempt has already run. */
  #armTimeout(each: RunningAttempt<R>, ran: number): void {
    const left = each.attempt.timeoutMs() - ran;
    const ms = Math.min(left, timeoutRecheckMs);
    each.timer = this.#options.timers.start(Math.max(0, ms), () => {
      if (left <= timeoutRecheckMs) this.#onTimeout(each);
      else this.#armTimeout(each, ran + ms);
    });
  }

  #onSlow(each: RunningAttempt<R>, waited: number): void {
    this.#armTimeout(each, waited);
    const other = this.#options.hedge();
    if (other) this.#armTimeout(this.#launch(other), 0);
  }

  #onTimeout(each: RunningAttempt<R>): void {
    each.timedOut = true;
    if (this.#pollTimer !== undefined) return;
    if (this.#running.some(({ timedOut }) => !timedOut)) each.cancel.abort(attemptTimeout());
    else if (this.#options.takeFailover()) each.cancel.abort(attemptTimeout(true));
    else this.#poll();
  }

  readonly #poll = (): void => {
    const { timers } = this.#options;
    this.#pollTimer = timers.start(pollMs, this.#poll);
    if (this.#running.some(({ timedOut: late }) => !late)) return;
    const more = this.#options.extra(this.#running.map(({ attempt }) => attempt));
    if (!more) return;
    // The oldest attempt is never canceled: the request itself may be slow, and not the target.
    for (const { cancel } of this.#running.slice(1)) cancel.abort(attemptTimeout());
    this.#armTimeout(this.#launch(more), 0);
  };

  #onSuccess(each: RunningAttempt<R>, reply: T): void {
    this.#remove(each);
    if (this.#settled) return;
    this.#end(each.attempt);
    this.#outcome.resolve(reply);
  }

  #onFailure(each: RunningAttempt<R>, error: unknown): void {
    this.#remove(each);
    if (this.#settled) return;
    const { first, isFinal } = this.#options;
    const { attempt: runner } = each;
    // An upstream's error is preferred to our own timeout, and the first attempt's error to later ones.
    const isFirst = runner === first || this.#failure?.error instanceof AttemptTimeout;
    if (!this.#failure || (isFirst && !(error instanceof AttemptTimeout))) {
      this.#failure = { error, runner };
    }
    if (this.#running.length > 0) this.#options.onWasted(error);
    // If all other attempts have timed out and this error would be the same everywhere, waiting longer is useless.
    const told = this.#running.every(({ timedOut: late }) => late) && isFinal(error);
    if (this.#running.length > 0 && !told) return;
    const failure = told ? { error, runner } : this.#failure;
    this.#end(failure.runner);
    this.#outcome.reject(failure.error);
  }

  #remove(each: RunningAttempt<R>): void {
    this.#options.timers.stop(each.timer);
    this.#running.splice(this.#running.indexOf(each), 1);
  }

  #end(runner: R): void {
    const { signal, timers, onSettled } = this.#options;
    this.#settled = true;
    if (this.#pollTimer !== undefined) timers.stop(this.#pollTimer);
    signal.removeEventListener("abort", this.#cancelAll);
    onSettled(runner);
    for (const each of this.#running) {
      this.#options.onWasted();
      this.#cancelLoser(each);
    }
  }

  #cancelLoser(each: RunningAttempt<R>): void {
    const { attempt: runner, cancel, timedOut: late } = each;
    const { timers } = this.#options;
    timers.stop(each.timer);
    if (late) cancel.abort(attemptTimeout());
    else if (runner.lingerMs === 0) cancel.abort(lostRace);
    else each.timer = timers.start(runner.lingerMs, () => cancel.abort(attemptTimeout()));
  }

  readonly #cancelAll = (): void => {
    const { reason } = this.#options.signal;
    for (const { cancel } of this.#running) cancel.abort(reason);
  };
}

const lostRace = new Error("another target was quicker");

/** An attempt exceeded its timeout. Clients see it only if no other target can be tried. */
class AttemptTimeout extends GatewayError {
  readonly wasReplaced: boolean;

  constructor(isReplaced: boolean) {
    super("upstream_timeout", "The upstream did not answer in the time that it usually takes.");
    this.wasReplaced = isReplaced;
  }
}

const attemptTimeout = (isReplaced = false): GatewayError => new AttemptTimeout(isReplaced);

/** The attempt was canceled to try another target, and the retry for that is already taken from the budget. */
export const isReplaced = (error: unknown): boolean =>
  error instanceof AttemptTimeout && error.wasReplaced;

/** The attempt was canceled because it exceeded its timeout, and for no other reason. */
export const wasCutOff = (signal: AbortSignalLike): boolean =>
  signal.aborted && signal.reason instanceof AttemptTimeout;
