/** One question to one target, and what its end says about the target. */
import type { Signal } from "../lib/signal.ts";
import type { Call, Send } from "../request/stage.ts";
import { nothing, outcomeOf } from "./health/classify-outcome.ts";
import { wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies/policy.ts";
import { isUnsent } from "./retry-policy.ts";
import type { ModelTargets } from "./target-registry.ts";

export interface AttemptOptions<Q, A> {
  readonly next: Send<Q, A>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** The same answer, and word when the last of it has come: of one that comes piece by piece. */
  readonly watchEnd?: ((answer: A, end: (failure?: unknown) => void) => A) | undefined;
  /** What size of call it is. Absent: how long it takes says nothing, as with pictures. */
  readonly sizeClassOf?: ((query: Q) => number) | undefined;
  /** Somebody has left a target, and others wait for that. */
  readonly onSlotFreed: () => void;
  /** What becomes of a call that its only target failed. */
  readonly failOver: (call: Call<Q>, modelTargets: ModelTargets, error: unknown) => Promise<A>;
}

export interface Attempt<Q, A> {
  /** One of several: all that can be learned is. `repeated`: it has failed this very question a moment ago. */
  send(
    call: Call<Q>,
    candidate: Candidate,
    modelTargets: ModelTargets,
    size: number,
    signal: Signal,
    repeated: boolean,
  ): Promise<A>;
  /** The only one, and well: as little as possible is done about it. */
  sendUnmeasured(call: Call<Q>, candidate: Candidate, modelTargets: ModelTargets): Promise<A>;
}

export function createAttempt<Q, A>(options: AttemptOptions<Q, A>): Attempt<Q, A> {
  const { next, clock, watchEnd, sizeClassOf, failOver, onSlotFreed } = options;
  let last: unknown;
  /** Calls that travelled together have one fault between them, and it is one piece of news. */
  const isNewError = (error: unknown): boolean => {
    if (error === last) return false;
    last = error;
    return true;
  };

  const send: Attempt<Q, A>["send"] = (
    call,
    { health, target },
    { peers },
    size,
    signal,
    repeated,
  ) => {
    const began = clock();
    const probe = health.begin(began);
    // Only where there are limits is there a queue.
    const stood = target.scopes && { ms: 0, waits: false };
    const succeed = (): void => {
      const now = clock();
      call.trip.reached = true;
      const tookMs = Math.max(0, now - began - (stood?.ms ?? 0));
      health.succeeded(now, tookMs, size, probe, peers);
      if (health.concurrency.gate.waiting > 0) onSlotFreed();
    };
    const fail = (error: unknown): void => {
      const now = clock();
      if (!isUnsent(error)) call.trip.reached = true;
      const ended = {
        aborted: signal.aborted,
        cut: wasCutOff(signal),
        lastedMs: now - began - (stood?.ms ?? 0),
        // Who is alone has all the time of a call, and nobody has shown what is usual.
        patienceMs: peers.length === 1 ? 0 : health.pace.patienceMs(size, peers),
        vainMs: sizeClassOf ? health.pace.vainMs(size, peers) : Number.POSITIVE_INFINITY,
      };
      // Whose time was over before its turn came has learned nothing.
      const outcome = stood?.waits || !isNewError(error) ? nothing : outcomeOf(error, ended);
      // What fails twice may be one bad text, which must not put the target out for everybody.
      const isOld = repeated && outcome.kind === "failed";
      health.ended(now, isOld ? nothing : outcome, probe, peers);
      if (health.concurrency.gate.waiting > 0) onSlotFreed();
    };
    call.trip.attempt(target);
    return sendSafely(
      next,
      stood ? { ...call, target, signal, stood } : { ...call, target, signal },
    ).then(
      (answer) => {
        if (watchEnd) {
          return watchEnd(answer, (failure) => (failure === undefined ? succeed() : fail(failure)));
        }
        succeed();
        return answer;
      },
      (error) => {
        fail(error);
        throw error;
      },
    );
  };

  const sendUnmeasured: Attempt<Q, A>["sendUnmeasured"] = (
    call,
    { health, target },
    modelTargets,
  ) => {
    call.trip.attempt(target);
    health.inFlight++;
    modelTargets.budgets.retries.uncounted++;
    const stood = target.scopes && { ms: 0, waits: false };
    return sendSafely(next, stood ? { ...call, target, stood } : { ...call, target }).then(
      (answer) => {
        call.trip.reached = true;
        health.succeededAlone();
        if (health.concurrency.gate.waiting > 0) onSlotFreed();
        return answer;
      },
      (error) => {
        if (!isUnsent(error)) call.trip.reached = true;
        const outcome =
          stood?.waits || !isNewError(error) ? nothing : outcomeOf(error, unmeasuredEnd);
        health.endedAlone(clock(), outcome, [health]);
        if (health.concurrency.gate.waiting > 0) onSlotFreed();
        return failOver(call, modelTargets, error);
      },
    );
  };

  return { send, sendUnmeasured };
}

/** Nobody measured, and nobody else could have been asked sooner. */
const unmeasuredEnd = { aborted: false, cut: false, lastedMs: 0, patienceMs: 0, vainMs: 0 };

/** What is thrown on the spot fails the call as well, and not the stage. */
function sendSafely<Q, A>(next: Send<Q, A>, call: Call<Q>): Promise<A> {
  try {
    return next(call);
  } catch (error) {
    return Promise.reject(error);
  }
}
