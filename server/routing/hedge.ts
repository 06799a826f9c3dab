/**
 * Impatience, for vectors, which are the same whoever makes them: a second question to another target when the first is
 * slower than it usually is, and an end to the first when it is slower than it ever is. Where nobody else is there who
 * could be asked, the first goes on; but what was true then need not stay true, so it is looked again and again whether
 * somebody is. None of it costs a call anything that is answered in its usual time, but for one timer.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { Cancel, type Signal } from "../lib/signal.ts";
import type { Timers } from "../lib/timers.ts";

/** Never sooner: below this the clock and the event loop are as slow as the upstream. */
const minHedgeDelayMs = 2;
/** How often it is looked, once all that run have had their time. */
const pollMs = 250;
/** After a start nobody's pace is known, and all who are asked first would be given the time that a model takes to load. */
const timeoutRecheckMs = 1000;

export interface HedgedAttempt<T> {
  /** After this a second one may run. Undefined: not known, so none does. */
  readonly hedgeAfterMs: number | undefined;
  /** After this it has had its time. Looked at again where it waits long: more may be known by then. */
  timeoutMs(): number;
  /** So long it may go on after another has won, because its end tells something. 0: it is called off at once. */
  readonly lingerMs: number;
  run(signal: Cancel): Promise<T>;
}

export interface HedgedRequestOptions<T, R extends HedgedAttempt<T>> {
  readonly first: R;
  /** Undefined: none may run. Asked at most once. */
  hedge(): R | undefined;
  /** Takes a retry for another target in place of one that has had its time, which is then called off. False: none may be had. */
  takeFailover(): boolean;
  /** One more, beside those that all have had their time. Undefined: not now. */
  extra(running: readonly R[]): R | undefined;
  /** A fault that others would only repeat. */
  isFinal(error: unknown): boolean;
  /** Before the outcome is: whose it is. */
  onSettled(runner: R): void;
  /** One was asked for nothing: another was quicker, or this one failed while another ran. */
  onWasted(error?: unknown): void;
  readonly signal: Signal;
  readonly timers: Timers;
}

/** The first that succeeds wins and the others are called off. When all fail, the first one's fault is told. */
export const hedgedRequest = <T, R extends HedgedAttempt<T>>(
  race: HedgedRequestOptions<T, R>,
): Promise<T> => new HedgedRequest(race).start();

interface RunningAttempt<R> {
  readonly attempt: R;
  readonly cancel: Cancel;
  timer: unknown;
  /** It has had its time. */
  timedOut: boolean;
}

class HedgedRequest<T, R extends HedgedAttempt<T>> {
  readonly #options: HedgedRequestOptions<T, R>;
  readonly #outcome = Promise.withResolvers<T>();
  /** In the order in which they began. */
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
      cancel: new Cancel(),
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

  /** It has run for so long. */
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
    // The longest wait is never given up: it may be the question that takes so long, and not the target.
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
    // What an upstream said comes before our own impatience, and of those the first one's.
    const isFirst = runner === first || this.#failure?.error instanceof AttemptTimeout;
    if (!this.#failure || (isFirst && !(error instanceof AttemptTimeout))) {
      this.#failure = { error, runner };
    }
    if (this.#running.length > 0) this.#options.onWasted(error);
    // Who waits for one that says nothing, and hears from another that the question is wrong, need not wait.
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

/** Told to nobody as long as there is somebody else to ask. */
class AttemptTimeout extends GatewayError {
  readonly wasReplaced: boolean;

  constructor(isReplaced: boolean) {
    super("upstream_timeout", "The upstream did not answer in the time that it usually takes.");
    this.wasReplaced = isReplaced;
  }
}

const attemptTimeout = (isReplaced = false): GatewayError => new AttemptTimeout(isReplaced);

/** It was called off so that another target can be asked, and the retry for that is taken already. */
export const isReplaced = (error: unknown): boolean =>
  error instanceof AttemptTimeout && error.wasReplaced;

/** It was called off because it was too slow, and for no other reason. */
export const wasCutOff = (signal: Signal): boolean =>
  signal.aborted && signal.reason instanceof AttemptTimeout;
