/**
 * Impatience, for vectors, which are the same whoever makes them: a second question to another target when the first is
 * slower than it usually is, and an end to the first when it is slower than it ever is. Neither costs a call anything
 * that is answered in its usual time, but for one timer.
 */
import { GatewayError } from "../../std/gateway-error.ts";
import { Cancel, type Signal } from "../../std/signal.ts";
import type { Timers } from "../../std/timers.ts";

/** Never sooner: below this the clock and the event loop are as slow as the upstream. */
const soonestMs = 2;

export interface Runner<T> {
  /** After this a second one may run. Undefined: not known, so none does. */
  readonly usualMs: number | undefined;
  /** After this it is called off. Infinity: never. */
  readonly patienceMs: number;
  /** So long it may go on after another has won, because its end tells something. 0: it is called off at once. */
  readonly lingerMs: number;
  run(signal: Cancel): Promise<T>;
}

export interface Race<T> {
  readonly first: Runner<T>;
  /** Undefined: none may run. Asked at most once. */
  second(): Runner<T> | undefined;
  /** Before the outcome is: is it the first one's? */
  told(first: boolean): void;
  readonly signal: Signal;
  readonly timers: Timers;
}

/** The first that succeeds wins and the other is called off. When both fail, the first one's fault is told. */
export function race<T>({ first, second, told, signal, timers }: Race<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const one = new Cancel();
  let two: Cancel | undefined;
  let [timer, secondTimer, lingering]: unknown[] = [];
  let running = 0;
  let over = false;
  let failure: { readonly error: unknown; readonly first: boolean } | undefined;

  const callOff = (): void => {
    one.abort(signal.reason);
    two?.abort(signal.reason);
  };
  const end = (isFirst: boolean): void => {
    over = true;
    timers.stop(timer);
    if (two) timers.stop(secondTimer);
    signal.removeEventListener("abort", callOff);
    told(isFirst);
  };
  const start = (runner: Runner<T>, cancel: Cancel, isFirst: boolean): void => {
    running++;
    runner.run(cancel).then(
      (reply) => {
        if (lingering) timers.stop(lingering);
        if (over) return;
        end(isFirst);
        resolve(reply);
        if (isFirst) two?.abort(lost);
        else leave();
      },
      (error) => {
        if (lingering) timers.stop(lingering);
        if (isFirst || !failure) failure = { error, first: isFirst };
        if (--running > 0 || over) return;
        end(failure.first);
        reject(failure.error);
      },
    );
  };
  /** The first has lost. */
  const leave = (): void => {
    if (first.lingerMs === 0) one.abort(lost);
    else lingering = timers.start(first.lingerMs, () => one.abort(tooSlow()));
  };
  const cutAfter = (ms: number, cancel: Cancel): unknown =>
    ms === Number.POSITIVE_INFINITY ? undefined : timers.start(ms, () => cancel.abort(tooSlow()));
  const hesitate = (waited: number): void => {
    timer = cutAfter(first.patienceMs - waited, one);
    const other = second();
    if (!other) return;
    two = new Cancel();
    secondTimer = cutAfter(other.patienceMs, two);
    start(other, two, false);
  };

  signal.addEventListener("abort", callOff);
  start(first, one, true);
  if (signal.aborted) callOff();
  const usual = first.usualMs === undefined ? undefined : Math.max(soonestMs, first.usualMs);
  timer =
    usual === undefined
      ? cutAfter(first.patienceMs, one)
      : timers.start(usual, () => hesitate(usual));
  return promise;
}

const lost = new Error("another target was quicker");

/** Told to nobody as long as there is somebody else to ask. */
class TooSlow extends GatewayError {
  constructor() {
    super("upstream_timeout", "The upstream did not answer in the time that it usually takes.");
  }
}

const tooSlow = (): GatewayError => new TooSlow();

/** It was called off because it was too slow, and for no other reason. */
export const isCut = (signal: Signal): boolean =>
  signal.aborted && signal.reason instanceof TooSlow;
