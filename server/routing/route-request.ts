/**
 * Which door, and which next: asks one of a model's targets, and another, or the same again, where the fault says that
 * this may help and the model has a try left to spend.
 */

import type { Gate } from "../limits/concurrency-gate.ts";
import type { Call, Stage } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import { createAttempt } from "./attempt.ts";
import { backoff } from "./backoff.ts";
import {
  capableCandidates,
  hasUntriedHealthy,
  noCapableTarget,
  untriedCandidates,
} from "./candidates.ts";
import { staleProbeMs } from "./health/circuit-breaker.ts";
import { type HedgedAttempt, hedgedRequest, isReplaced } from "./hedge.ts";
import type { Candidate, SelectionContext } from "./policies/policy.ts";
import {
  errorCodeOf,
  isUnsent,
  mayFailOver,
  mayHaveBeenBilled,
  retryDelayMs,
} from "./retry-policy.ts";
import { addSkippedSteps, addStep } from "./routing-steps.ts";
import { selectRetryTarget } from "./select-retry-target.ts";
import {
  isBusy,
  noHealthyTarget,
  type Selection,
  selectHealthy,
  selectTarget,
  type TargetCapacity,
} from "./select-target.ts";
import type { ModelTargets, TargetRegistry } from "./target-registry.ts";

/** Where calls wait for targets that have as much as they can take. */
export interface TargetQueue<Q> {
  /** Until there is a place inside of the gate, and it is taken. Undefined: it is. Throws GatewayError if none comes free in time. */
  wait(call: Call<Q>, gate: Gate): Promise<void> | undefined;
  /** Somebody has left a gate that others wait for. */
  admitWaiting(): void;
}

export interface RouteRequestOptions<Q, A> {
  readonly registry: TargetRegistry;
  /** Whether this target can be asked this. Absent: any can. */
  readonly canServe?: (call: Call<Q>, target: Target) => boolean;
  /** What size of call it is. Absent: it is never asked of two targets at the same time, nor called off for being slow. */
  readonly sizeClassOf?: (query: Q) => number;
  /** What a call costs at a target, where that is known. */
  readonly priceOf?: (call: Call<Q>, target: Target) => number | undefined;
  /** What the gateway's own limits say of a target. Absent: there are none. */
  readonly capacity?: TargetCapacity;
  /** Absent: nobody waits, and targets are given more than they can take. */
  readonly queue?: TargetQueue<Q>;
  /** The same answer, and word when the last of it has come: of one that comes piece by piece. */
  readonly watchEnd?: (answer: A, end: (failure?: unknown) => void) => A;
  /**
   * What is made is paid for. Then no call goes to a target that failed, to see, while another serves: this question,
   * which costs nothing, is asked first. True: it is there.
   */
  readonly checkHealth?: (target: Target) => Promise<boolean>;
}

type RoutingState = { -readonly [name in keyof Selection]: Selection[name] } & {
  readonly context: { -readonly [name in keyof SelectionContext]: SelectionContext[name] };
  readonly modelTargets: ModelTargets;
  /** How often it was asked of targets that it had asked already. */
  repeats: number;
  /** Of a call that nobody answers: when whom it last asked. */
  askedAt?: Map<Candidate, number>;
};

/** A target that was asked, and when. */
interface TargetAttempt<A> extends HedgedAttempt<A> {
  readonly candidate: Candidate;
  readonly startedAt: number;
  /** What had been heard of it by then. */
  readonly signsOfLife: number;
}

export const routeRequest =
  <Q, A>(options: RouteRequestOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const { registry, canServe, sizeClassOf, priceOf, capacity, queue, watchEnd, checkHealth } =
      options;
    const { clock, random, timers } = registry;
    const tries = checkHealth ? "looked-at" : "any";
    const { send, sendUnmeasured } = createAttempt<Q, A>({
      ...{ next, clock, watchEnd, sizeClassOf },
      onSlotFreed: () => queue?.admitWaiting(),
      failOver: (call, modelTargets, error) => attemptUntilSettled(call, modelTargets, { error }),
    });

    const routingStateFor = (call: Call<Q>, modelTargets: ModelTargets): RoutingState => {
      const { policy } = modelTargets;
      const context = {
        now: clock(),
        random,
        sizeClass: sizeClassOf ? sizeClassOf(call.query) : 0,
        affinityHash:
          call.route.policy === "sticky" ? Bun.hash.crc32(call.trip.caller?.id ?? "") : 0,
        price: ({ target }: Candidate) => priceOf?.(call, target),
      };
      const open = call.order
        ? untriedCandidates(modelTargets.candidates, call.order)
        : modelTargets.candidates;
      const candidates = canServe
        ? capableCandidates(open, (target) => canServe(call, target))
        : open;
      const empty = { tried: undefined, skippedAny: false, repeats: 0 };
      return { candidates, policy, capacity, context, modelTargets, ...empty };
    };

    /** What is not the plain way is in the account of the call. */
    const recordSkipped = (
      { trip }: Call<Q>,
      chosen: RoutingState,
      asked: Candidate | undefined,
    ): void => {
      const { now } = chosen.context;
      addSkippedSteps(trip, chosen, asked, now);
      if (!checkHealth) return;
      for (const { health, tier } of chosen.candidates) {
        if (asked && (health === asked.health || tier > asked.tier)) continue;
        if (health.standing(now, false) === "probe") health.passOver(now, checkHealth, clock);
      }
    };

    const attemptOn = (
      call: Call<Q>,
      { modelTargets, context }: RoutingState,
      candidate: Candidate,
      repeated = false,
    ): TargetAttempt<A> => {
      const { health } = candidate;
      const { now, sizeClass } = context;
      return {
        candidate,
        startedAt: now,
        signsOfLife: health.signs,
        // Whether it is back is told by its own answer, and not by that of a quicker one.
        lingerMs: health.breaker.open ? staleProbeMs : 0,
        hedgeAfterMs:
          modelTargets.candidates.length > 1 ? health.pace.usualMs(sizeClass) : undefined,
        timeoutMs: () => health.pace.patienceMs(sizeClass, modelTargets.peers),
        run: (signal) => send(call, candidate, modelTargets, sizeClass, signal, repeated),
      };
    };

    /** Once for each call. */
    const recordSilence = (
      chosen: RoutingState,
      running: readonly TargetAttempt<A>[],
    ): Map<Candidate, number> => {
      for (const { candidate, signsOfLife } of running)
        candidate.health.silent(chosen.context.now, signsOfLife);
      chosen.askedAt = new Map(running.map(({ candidate, startedAt }) => [candidate, startedAt]));
      return chosen.askedAt;
    };

    /** Whoever is there now, be it one that was asked before, or the same again. */
    const extraAttempt = (
      call: Call<Q>,
      chosen: RoutingState,
      running: readonly TargetAttempt<A>[],
    ): TargetAttempt<A> | undefined => {
      const { context, modelTargets } = chosen;
      context.now = clock();
      const attemptedAt = chosen.askedAt ?? recordSilence(chosen, running);
      const { peers, budgets } = modelTargets;
      const candidate = selectRetryTarget({ selection: chosen, context, peers, attemptedAt });
      if (!candidate || candidate.health.isFull(context.now)) return undefined;
      if (!budgets.retries.spend(context.now)) return undefined;
      attemptedAt.set(candidate, context.now);
      if (!chosen.tried?.includes(candidate)) chosen.tried = [...(chosen.tried ?? []), candidate];
      const isSame = running.some((each) => each.candidate === candidate);
      addStep(
        call.trip,
        candidate.target,
        isSame ? "asked again, for it said nothing" : hedgedStep,
      );
      return attemptOn(call, chosen, candidate);
    };

    /** Asks this one, and another as well when it hesitates. Whoever was asked is written down as tried. */
    const attemptWithHedge = (
      call: Call<Q>,
      chosen: RoutingState,
      candidate: Candidate,
    ): Promise<A> => {
      const { modelTargets, context } = chosen;
      const { signal, trip } = call;
      const repeated = chosen.tried?.includes(candidate) === true;
      chosen.tried = chosen.tried ? [...chosen.tried, candidate] : [candidate];
      // Who would have to wait for its turn there is not slow for it.
      if (!sizeClassOf || isBusy(capacity, candidate.target)) {
        return send(call, candidate, modelTargets, context.sizeClass, signal, repeated);
      }
      return hedgedRequest<A, TargetAttempt<A>>({
        first: attemptOn(call, chosen, candidate, repeated),
        hedge: () => {
          context.now = clock();
          const other = selectHealthy(chosen, context, "none");
          const { hedges, retries } = modelTargets.budgets;
          if (!other || other.health.isFull(context.now)) return undefined;
          if (!hedges.spend() || !retries.spend(context.now)) return undefined;
          chosen.tried = [...(chosen.tried ?? []), other];
          addStep(trip, other.target, hedgedStep);
          return attemptOn(call, chosen, other);
        },
        takeFailover: () =>
          hasUntriedHealthy(chosen, clock()) && modelTargets.budgets.retries.spend(clock()),
        extra: (running) => extraAttempt(call, chosen, running),
        isFinal: (error) => !mayFailOver(error, call),
        // Whose answer or fault is told, that one counts as the one that served.
        onSettled: (asked) => {
          trip.target = asked.candidate.target;
        },
        // Upstreams may charge for what is called off.
        onWasted: (error) => {
          if (error === undefined || mayHaveBeenBilled(error)) trip.mayHavePaid = true;
        },
        signal,
        timers,
      });
    };

    /** Who is asked first. */
    const selectFirst = (call: Call<Q>, chosen: RoutingState): Candidate => {
      const { context, candidates, modelTargets } = chosen;
      if (candidates.length === 0) throw noCapableTarget(call.route.id);
      const candidate = selectTarget(chosen, context, tries);
      if (chosen.skippedAny) recordSkipped(call, chosen, candidate);
      if (!candidate) throw noHealthyTarget(call.route.id, candidates, context.now);
      // Only of those that somebody is asked for: in an outage all others would earn tries for what comes after it.
      modelTargets.budgets.retries.earn(context.now);
      modelTargets.budgets.hedges.earn();
      return candidate;
    };

    /** There is room at this one now, if it still serves. */
    const selectAfterWait = (
      { route }: Call<Q>,
      chosen: RoutingState,
      waitedFor: Candidate,
    ): Candidate => {
      const { context, candidates } = chosen;
      context.now = clock();
      if (waitedFor.health.standing(context.now, candidates.length === 1) === "in")
        return waitedFor;
      const candidate = selectTarget(chosen, context, tries);
      if (!candidate) throw noHealthyTarget(route.id, candidates, context.now);
      return candidate;
    };

    /** Who is asked after one that failed, and when: one that was not asked yet, or any of them again after a pause. */
    const selectNext = async (
      call: Call<Q>,
      chosen: RoutingState,
      failed: Candidate,
      error: unknown,
    ): Promise<Candidate> => {
      const { trip, signal } = call;
      const { context, candidates, modelTargets } = chosen;
      const { retries } = modelTargets.budgets;
      if (signal.aborted || !mayFailOver(error, call)) throw error;
      if (mayHaveBeenBilled(error)) trip.mayHavePaid = true;
      context.now = clock();
      const other = selectTarget(chosen, context, tries);
      let waitMs: number | undefined;
      // What never left is no second question, and who was called off for another has its retry.
      const isFree = isUnsent(error) || isReplaced(error);
      if (other) waitMs = isFree ? 0 : retries.take(context.now, random);
      else if (candidates.some(({ health }) => !health.breaker.open)) {
        waitMs = retryDelayMs(error, call, chosen.repeats++, random);
        if (waitMs !== undefined && !retries.spend(context.now)) waitMs = undefined;
      }
      if (waitMs === undefined) throw error;
      // Those that draw write their own account of how it ended.
      if (!checkHealth) addStep(trip, failed.target, errorCodeOf(error));
      if (waitMs > 0) await backoff(waitMs, signal, timers);
      if (other) return other;
      context.now = clock();
      const again = selectHealthy({ ...chosen, tried: undefined }, context, "none");
      if (!again) throw error;
      return again;
    };

    /** `failure`: what the only one has said to it already. */
    const attemptUntilSettled = async (
      call: Call<Q>,
      modelTargets: ModelTargets,
      failure?: { readonly error: unknown },
    ): Promise<A> => {
      const chosen = routingStateFor(call, modelTargets);
      let candidate: Candidate;
      if (failure) {
        // What some have left out is new to those who are left.
        if (!call.order) chosen.tried = modelTargets.candidates;
        candidate = await selectNext(
          call,
          chosen,
          modelTargets.candidates[0] as Candidate,
          failure.error,
        );
      } else candidate = selectFirst(call, chosen);
      for (;;) {
        if (queue && candidate.health.isFull(chosen.context.now)) {
          const { gate } = candidate.health.concurrency;
          await queue.wait(call, gate);
          // It is counted anew where it is asked now.
          gate.inside--;
          candidate = selectAfterWait(call, chosen, candidate);
        }
        try {
          return await attemptWithHedge(call, chosen, candidate);
        } catch (error) {
          candidate = await selectNext(call, chosen, candidate, error);
        }
      }
    };

    return (call) => {
      const modelTargets = registry.targetsFor(call.route);
      const [only] = modelTargets.candidates;
      if (!call.order?.failure) call.trip.questions++;
      // Most models have one target, and nothing to choose.
      if (only && modelTargets.candidates.length === 1 && !watchEnd) {
        if (only.health.mayGoUnmeasured) return sendUnmeasured(call, only, modelTargets);
        only.health.sampling.take(timers);
      }
      return attemptUntilSettled(call, modelTargets, call.order?.failure);
    };
  };

const hedgedStep = "asked as well, for the first was slow";
