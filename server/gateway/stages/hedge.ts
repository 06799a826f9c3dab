/**
 * A second question to another target when the first is slower than it usually is. Only for vectors, which are the same
 * whoever makes them and cost the same asked twice; and only for a small share of the calls, or a slow day would
 * double the load.
 */
import { Cancel, type Signal } from "../../std/signal.ts";
import type { EmbeddingsQuery, EmbeddingsReply, Target } from "../../upstream/contract.ts";
import { Budget, Recent } from "../recent.ts";
import type { Call, Send } from "./stage.ts";

export interface HedgeOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Extra calls for each call: 0.05 is one in twenty. */
  readonly share?: number;
}

type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsReply>;
type EmbeddingsCall = Call<EmbeddingsQuery>;

/** Never sooner: below this the clock and the event loop are as slow as the upstream. */
const soonestMs = 2;

export function createHedge({ clock, share = 0.05 }: HedgeOptions) {
  const recents = new WeakMap<Target, Recent>();
  const budget = new Budget(share);

  const recentOf = (target: Target): Recent => {
    const known = recents.get(target) ?? new Recent();
    recents.set(target, known);
    return known;
  };

  /** Asks one target and remembers how long it took. Only answers count: a failure may be quick. */
  const timed = async (
    next: EmbeddingsSend,
    call: EmbeddingsCall,
    target: Target,
    signal: Signal,
  ): Promise<EmbeddingsReply> => {
    const began = clock();
    call.trip.attempt(target);
    const reply = await next({ ...call, target, signal });
    recentOf(target).add(clock() - began);
    return reply;
  };

  return async (
    next: EmbeddingsSend,
    call: EmbeddingsCall,
    target: Target,
    others: Target[],
  ): Promise<EmbeddingsReply> => {
    budget.earn();
    const usual = recentOf(target).p95();
    const [other] = others;
    if (usual === undefined || !other) return timed(next, call, target, call.signal);
    return race(call.signal, Math.max(soonestMs, usual), {
      first: (signal) => timed(next, call, target, signal),
      second: (signal) => {
        if (!budget.spend()) return undefined;
        others.shift();
        return timed(next, call, other, signal);
      },
      // Whose answer or fault is told, that one counts as the one that served.
      told: (first) => {
        call.trip.target = first ? target : other;
      },
    });
  };
}

interface Runners<T> {
  first(signal: Signal): Promise<T>;
  /** Undefined: it may not run. */
  second(signal: Signal): Promise<T> | undefined;
  /** Before the outcome is: is it the first one's? */
  told(first: boolean): void;
}

/** The first that succeeds wins and the other is called off. When both fail, the first one's fault is told. */
function race<T>(signal: Signal, afterMs: number, runners: Runners<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const [one, two] = [new Cancel(), new Cancel()];
  const callOff = (): void => {
    one.abort(signal.reason);
    two.abort(signal.reason);
  };
  let running = 1;
  let over = false;
  let failure: { readonly error: unknown; readonly first: boolean } | undefined;
  const end = (first: boolean): void => {
    over = true;
    clearTimeout(timer);
    signal.removeEventListener("abort", callOff);
    runners.told(first);
  };
  const win = (reply: T, first: boolean): void => {
    if (over) return;
    end(first);
    resolve(reply);
    (first ? two : one).abort(lost);
  };
  const lose = (error: unknown, first: boolean): void => {
    if (first || !failure) failure = { error, first };
    if (--running > 0 || over) return;
    end(failure.first);
    reject(failure.error);
  };
  const timer = setTimeout(() => {
    const second = runners.second(two);
    if (!second) return;
    running++;
    second.then(
      (reply) => win(reply, false),
      (error) => lose(error, false),
    );
  }, afterMs);
  signal.addEventListener("abort", callOff);
  runners.first(one).then(
    (reply) => win(reply, true),
    (error) => lose(error, true),
  );
  if (signal.aborted) callOff();
  return promise;
}

const lost = new Error("another target was quicker");
