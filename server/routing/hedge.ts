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
const soonestMs = 2;
/** How often it is looked, once all that run have had their time. */
const lookMs = 250;
/** After a start nobody's pace is known, and all who are asked first would be given the time that a model takes to load. */
const lookAgainMs = 1000;

export interface Runner<T> {
  /** After this a second one may run. Undefined: not known, so none does. */
  readonly usualMs: number | undefined;
  /** After this it has had its time. Looked at again where it waits long: more may be known by then. */
  patienceMs(): number;
  /** So long it may go on after another has won, because its end tells something. 0: it is called off at once. */
  readonly lingerMs: number;
  run(signal: Cancel): Promise<T>;
}

export interface Race<T, R extends Runner<T>> {
  readonly first: R;
  /** Undefined: none may run. Asked at most once. */
  second(): R | undefined;
  /** Takes a retry for another target in place of one that has had its time, which is then called off. False: none may be had. */
  isReplaceable(): boolean;
  /** One more, beside those that all have had their time. Undefined: not now. */
  another(running: readonly R[]): R | undefined;
  /** A fault that others would only repeat. */
  isFinal(error: unknown): boolean;
  /** Before the outcome is: whose it is. */
  told(runner: R): void;
  /** One was asked for nothing: another was quicker, or this one failed while another ran. */
  wasted(error?: unknown): void;
  readonly signal: Signal;
  readonly timers: Timers;
}

/** The first that succeeds wins and the others are called off. When all fail, the first one's fault is told. */
export const race = <T, R extends Runner<T>>(race: Race<T, R>): Promise<T> =>
  new Contest(race).begin();

interface Running<R> {
  readonly runner: R;
  readonly cancel: Cancel;
  timer: unknown;
  /** It has had its time. */
  late: boolean;
}

class Contest<T, R extends Runner<T>> {
  readonly #race: Race<T, R>;
  readonly #outcome = Promise.withResolvers<T>();
  /** In the order in which they began. */
  readonly #running: Running<R>[] = [];
  #looking: unknown;
  #over = false;
  #failure: { readonly error: unknown; readonly runner: R } | undefined;

  constructor(race: Race<T, R>) {
    this.#race = race;
  }

  begin(): Promise<T> {
    const { first, signal, timers } = this.#race;
    signal.addEventListener("abort", this.#callOff);
    const each = this.#start(first);
    if (first.usualMs === undefined) this.#giveTime(each, 0);
    else {
      const usual = Math.max(soonestMs, first.usualMs);
      each.timer = timers.start(usual, () => this.#hesitate(each, usual));
    }
    if (signal.aborted) this.#callOff();
    return this.#outcome.promise;
  }

  #start(runner: R): Running<R> {
    const each: Running<R> = { runner, cancel: new Cancel(), timer: undefined, late: false };
    this.#running.push(each);
    runner.run(each.cancel).then(
      (reply) => this.#answered(each, reply),
      (error) => this.#failed(each, error),
    );
    return each;
  }

  /** It has run for so long. */
  #giveTime(each: Running<R>, ran: number): void {
    const left = each.runner.patienceMs() - ran;
    const ms = Math.min(left, lookAgainMs);
    each.timer = this.#race.timers.start(Math.max(0, ms), () => {
      if (left <= lookAgainMs) this.#isLate(each);
      else this.#giveTime(each, ran + ms);
    });
  }

  #hesitate(each: Running<R>, waited: number): void {
    this.#giveTime(each, waited);
    const other = this.#race.second();
    if (other) this.#giveTime(this.#start(other), 0);
  }

  #isLate(each: Running<R>): void {
    each.late = true;
    if (this.#looking !== undefined) return;
    if (this.#running.some(({ late }) => !late)) each.cancel.abort(tooSlow());
    else if (this.#race.isReplaceable()) each.cancel.abort(tooSlow(true));
    else this.#look();
  }

  readonly #look = (): void => {
    const { timers } = this.#race;
    this.#looking = timers.start(lookMs, this.#look);
    if (this.#running.some(({ late }) => !late)) return;
    const more = this.#race.another(this.#running.map(({ runner }) => runner));
    if (!more) return;
    // The longest wait is never given up: it may be the question that takes so long, and not the target.
    for (const { cancel } of this.#running.slice(1)) cancel.abort(tooSlow());
    this.#giveTime(this.#start(more), 0);
  };

  #answered(each: Running<R>, reply: T): void {
    this.#leaves(each);
    if (this.#over) return;
    this.#end(each.runner);
    this.#outcome.resolve(reply);
  }

  #failed(each: Running<R>, error: unknown): void {
    this.#leaves(each);
    if (this.#over) return;
    const { first, isFinal } = this.#race;
    const { runner } = each;
    // What an upstream said comes before our own impatience, and of those the first one's.
    const isFirst = runner === first || this.#failure?.error instanceof TooSlow;
    if (!this.#failure || (isFirst && !(error instanceof TooSlow))) {
      this.#failure = { error, runner };
    }
    if (this.#running.length > 0) this.#race.wasted(error);
    // Who waits for one that says nothing, and hears from another that the question is wrong, need not wait.
    const told = this.#running.every(({ late }) => late) && isFinal(error);
    if (this.#running.length > 0 && !told) return;
    const failure = told ? { error, runner } : this.#failure;
    this.#end(failure.runner);
    this.#outcome.reject(failure.error);
  }

  #leaves(each: Running<R>): void {
    this.#race.timers.stop(each.timer);
    this.#running.splice(this.#running.indexOf(each), 1);
  }

  #end(runner: R): void {
    const { signal, timers, told } = this.#race;
    this.#over = true;
    if (this.#looking !== undefined) timers.stop(this.#looking);
    signal.removeEventListener("abort", this.#callOff);
    told(runner);
    for (const each of this.#running) {
      this.#race.wasted();
      this.#lose(each);
    }
  }

  #lose(each: Running<R>): void {
    const { runner, cancel, late } = each;
    const { timers } = this.#race;
    timers.stop(each.timer);
    if (late) cancel.abort(tooSlow());
    else if (runner.lingerMs === 0) cancel.abort(lost);
    else each.timer = timers.start(runner.lingerMs, () => cancel.abort(tooSlow()));
  }

  readonly #callOff = (): void => {
    const { reason } = this.#race.signal;
    for (const { cancel } of this.#running) cancel.abort(reason);
  };
}

const lost = new Error("another target was quicker");

/** Told to nobody as long as there is somebody else to ask. */
class TooSlow extends GatewayError {
  readonly isReplaced: boolean;

  constructor(isReplaced: boolean) {
    super("upstream_timeout", "The upstream did not answer in the time that it usually takes.");
    this.isReplaced = isReplaced;
  }
}

const tooSlow = (isReplaced = false): GatewayError => new TooSlow(isReplaced);

/** It was called off so that another target can be asked, and the retry for that is taken already. */
export const isReplaced = (error: unknown): boolean => error instanceof TooSlow && error.isReplaced;

/** It was called off because it was too slow, and for no other reason. */
export const isCut = (signal: Signal): boolean =>
  signal.aborted && signal.reason instanceof TooSlow;
