/**
 * The routing stage: selects a target, sends the request, and fails over or retries where the error allows it and the
 * model's retry budget has a retry left. Embeddings requests are also hedged.
 */

import type { ConcurrencySlots } from "../limits/concurrency-slots.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import { createAttempt } from "./attempt.ts";
import { backoff } from "./backoff.ts";
import {
  capableCandidates,
  hasUntriedHealthy,
  noCapableTarget,
  untriedCandidates,
} from "./candidates.ts";
import { probeTimeoutMs } from "./health/circuit-breaker.ts";
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

/** The queue for targets at their hard concurrency limit. */
export interface TargetQueue<Q> {
  /** Takes a slot, after a wait if necessary. Throws GatewayError if none becomes free in time. */
  wait(request: StageRequest<Q>, slots: ConcurrencySlots): Promise<void>;
  /** A slot was released: admits waiting requests. */
  admitWaiting(): void;
}

export interface RouteRequestOptions<Q, A> {
  readonly registry: TargetRegistry;
  /** Whether the target supports the request. Absent: every target does. */
  readonly canServe?: (request: StageRequest<Q>, target: Target) => boolean;
  /** The size class of a request. Absent: requests are neither hedged nor canceled for being slow. */
  readonly sizeClassOf?: (query: Q) => number;
  /** The price of a request at a target, if known. */
  readonly priceOf?: (request: StageRequest<Q>, target: Target) => number | undefined;
  /** The gateway's own limits of targets. Absent: there are none. */
  readonly capacity?: TargetCapacity;
  /** Absent: requests do not queue, and go to targets beyond their hard limit. */
  readonly queue?: TargetQueue<Q>;
  /** Wraps a streamed response so that `end` is called after its last event. */
  readonly watchEnd?: (response: A, end: (failure?: unknown) => void) => A;
  /**
   * A free health check, for requests that are billed one by one. If set, no request is sent to an ejected target as a
   * probe while another target serves, unless this check has passed. True: the target is up.
   */
  readonly checkHealth?: (target: Target) => Promise<boolean>;
}

type RoutingState = { -readonly [name in keyof Selection]: Selection[name] } & {
  readonly context: { -readonly [name in keyof SelectionContext]: SelectionContext[name] };
  readonly modelTargets: ModelTargets;
  /** How often the request was retried on targets that it had already tried. */
  repeats: number;
  /** For a request whose attempts have all timed out: when it last tried each candidate. */
  attemptedAt?: Map<Candidate, number>;
};

/** An attempt on one candidate, and when it started. */
interface TargetAttempt<A> extends HedgedAttempt<A> {
  readonly candidate: Candidate;
  readonly startedAt: number;
  /** The target's `responseCount` at the start. */
  readonly responseCount: number;
}

export const routeRequest =
  <Q, A>(options: RouteRequestOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const { registry, canServe, sizeClassOf, priceOf, capacity, queue, watchEnd, checkHealth } =
      options;
    const { clock, random, timers } = registry;
    const probeMode = checkHealth ? "checked" : "any";
    const { send, sendUnmeasured } = createAttempt<Q, A>({
      ...{ next, clock, watchEnd, sizeClassOf },
      onSlotFreed: () => queue?.admitWaiting(),
      failOver: (request, modelTargets, error) =>
        attemptUntilSettled(request, modelTargets, { error }),
    });

    const routingStateFor = (
      request: StageRequest<Q>,
      modelTargets: ModelTargets,
    ): RoutingState => {
      const { policy } = modelTargets;
      const context = {
        now: clock(),
        random,
        sizeClass: sizeClassOf ? sizeClassOf(request.query) : 0,
        affinityHash:
          request.route.policy === "sticky" ? Bun.hash.crc32(request.record.caller?.id ?? "") : 0,
        price: ({ target }: Candidate) => priceOf?.(request, target),
      };
      const open = request.tried
        ? untriedCandidates(modelTargets.candidates, request.tried)
        : modelTargets.candidates;
      const candidates = canServe
        ? capableCandidates(open, (target) => canServe(request, target))
        : open;
      const empty = { tried: undefined, skippedAny: false, repeats: 0 };
      return { candidates, policy, capacity, context, modelTargets, ...empty };
    };

    /**
     * Records skipped candidates in the routing steps, and starts a free health check of each one that is due for a
     * probe.
     */
    const recordSkipped = (
      { record }: StageRequest<Q>,
      state: RoutingState,
      selected: Candidate | undefined,
    ): void => {
      const { now } = state.context;
      addSkippedSteps(record, state, selected, now);
      if (!checkHealth) return;
      for (const { health, tier } of state.candidates) {
        if (selected && (health === selected.health || tier > selected.tier)) continue;
        if (health.state(now, false) === "probe") health.skipProbe(now, checkHealth, clock);
      }
    };

    const attemptOn = (
      request: StageRequest<Q>,
      { modelTargets, context }: RoutingState,
      candidate: Candidate,
      repeated = false,
    ): TargetAttempt<A> => {
      const { health } = candidate;
      const { now, sizeClass } = context;
      return {
        candidate,
        startedAt: now,
        responseCount: health.responseCount,
        // A probe's own outcome decides whether the target has recovered, so it may outlive a faster winner.
        lingerMs: health.breaker.open ? probeTimeoutMs : 0,
        hedgeAfterMs:
          modelTargets.candidates.length > 1 ? health.latency.p95Ms(sizeClass) : undefined,
        timeoutMs: () => health.latency.timeoutMs(sizeClass, modelTargets.peers),
        run: (signal) => send(request, candidate, modelTargets, sizeClass, signal, repeated),
      };
    };

    /** Called once per request. */
    const recordSilence = (
      state: RoutingState,
      running: readonly TargetAttempt<A>[],
    ): Map<Candidate, number> => {
      for (const { candidate, responseCount } of running)
        candidate.health.recordSilence(state.context.now, responseCount);
      state.attemptedAt = new Map(
        running.map(({ candidate, startedAt }) => [candidate, startedAt]),
      );
      return state.attemptedAt;
    };

    /** One more attempt on any candidate that is available now, including those already tried. */
    const extraAttempt = (
      request: StageRequest<Q>,
      state: RoutingState,
      running: readonly TargetAttempt<A>[],
    ): TargetAttempt<A> | undefined => {
      const { context, modelTargets } = state;
      context.now = clock();
      const attemptedAt = state.attemptedAt ?? recordSilence(state, running);
      const { peers, budgets } = modelTargets;
      const candidate = selectRetryTarget({ selection: state, context, peers, attemptedAt });
      if (!candidate || candidate.health.isAtHardLimit(context.now)) return undefined;
      if (!budgets.retries.spend(context.now)) return undefined;
      attemptedAt.set(candidate, context.now);
      if (!state.tried?.includes(candidate)) state.tried = [...(state.tried ?? []), candidate];
      const isSame = running.some((each) => each.candidate === candidate);
      addStep(
        request.record,
        candidate.target,
        isSame ? "retried, because it did not respond" : hedgedStep,
      );
      return attemptOn(request, state, candidate);
    };

    /** Sends the request to this candidate, with a hedge to another one when it is slow. Adds both to `tried`. */
    const attemptWithHedge = (
      request: StageRequest<Q>,
      state: RoutingState,
      candidate: Candidate,
    ): Promise<A> => {
      const { modelTargets, context } = state;
      const { signal, record } = request;
      const repeated = state.tried?.includes(candidate) === true;
      state.tried = state.tried ? [...state.tried, candidate] : [candidate];
      // Time in the target's queue is not latency, so a busy target is not hedged.
      if (!sizeClassOf || isBusy(capacity, candidate.target)) {
        return send(request, candidate, modelTargets, context.sizeClass, signal, repeated);
      }
      return hedgedRequest<A, TargetAttempt<A>>({
        first: attemptOn(request, state, candidate, repeated),
        hedge: () => {
          context.now = clock();
          const other = selectHealthy(state, context, "none");
          const { hedges, retries } = modelTargets.budgets;
          if (!other || other.health.isAtHardLimit(context.now)) return undefined;
          if (!hedges.spend() || !retries.spend(context.now)) return undefined;
          state.tried = [...(state.tried ?? []), other];
          addStep(record, other.target, hedgedStep);
          return attemptOn(request, state, other);
        },
        takeFailover: () =>
          hasUntriedHealthy(state, clock()) && modelTargets.budgets.retries.spend(clock()),
        extra: (running) => extraAttempt(request, state, running),
        isFinal: (error) => !mayFailOver(error, request),
        // The target whose response or error is returned is the one in the ledger row.
        onSettled: (attempt) => {
          record.routing.target = attempt.candidate.target;
        },
        // Upstreams may bill canceled requests.
        onWasted: (error) => {
          if (error === undefined || mayHaveBeenBilled(error))
            record.cost.earlierAttemptMayBeBilled = true;
        },
        signal,
        timers,
      });
    };

    /** Selects the first candidate, and earns the retry and hedge budgets. */
    const selectFirst = (request: StageRequest<Q>, state: RoutingState): Candidate => {
      const { context, candidates, modelTargets } = state;
      if (candidates.length === 0) throw noCapableTarget(request.route.id);
      const candidate = selectTarget(state, context, probeMode);
      if (state.skippedAny) recordSkipped(request, state, candidate);
      if (!candidate) throw noHealthyTarget(request.route.id, candidates, context.now);
      // Only requests that are sent earn budget: otherwise the requests refused in an outage would earn retries for the
      // time after it.
      modelTargets.budgets.retries.earn(context.now);
      modelTargets.budgets.hedges.earn();
      return candidate;
    };

    /** After a wait for a slot: the candidate that was waited for, if it is still available, or another. */
    const selectAfterWait = (
      { route }: StageRequest<Q>,
      state: RoutingState,
      waitedFor: Candidate,
    ): Candidate => {
      const { context, candidates } = state;
      context.now = clock();
      if (waitedFor.health.state(context.now, candidates.length === 1) === "available")
        return waitedFor;
      const candidate = selectTarget(state, context, probeMode);
      if (!candidate) throw noHealthyTarget(route.id, candidates, context.now);
      return candidate;
    };

    /**
     * Selects the candidate after a failure: one that was not tried yet, or a tried one again after a backoff. Throws
     * the error if no candidate is left.
     */
    const selectNext = async (
      request: StageRequest<Q>,
      state: RoutingState,
      failed: Candidate,
      error: unknown,
    ): Promise<Candidate> => {
      const { record, signal } = request;
      const { context, candidates, modelTargets } = state;
      const { retries } = modelTargets.budgets;
      if (signal.aborted || !mayFailOver(error, request)) throw error;
      if (mayHaveBeenBilled(error)) record.cost.earlierAttemptMayBeBilled = true;
      context.now = clock();
      const other = selectTarget(state, context, probeMode);
      let waitMs: number | undefined;
      // A request that was never sent is not a retry, and a replaced attempt has already taken its retry from the
      // budget.
      const isFree = isUnsent(error) || isReplaced(error);
      if (other) waitMs = isFree ? 0 : retries.take(context.now, random);
      else if (candidates.some(({ health }) => !health.breaker.open)) {
        waitMs = retryDelayMs(error, request, state.repeats++, random);
        if (waitMs !== undefined && !retries.spend(context.now)) waitMs = undefined;
      }
      if (waitMs === undefined) throw error;
      // The image stages record failed attempts themselves.
      if (!checkHealth) addStep(record, failed.target, errorCodeOf(error));
      if (waitMs > 0) await backoff(waitMs, signal, timers);
      if (other) return other;
      context.now = clock();
      const again = selectHealthy({ ...state, tried: undefined }, context, "none");
      if (!again) throw error;
      return again;
    };

    /** `failure`: the error of an attempt that the caller already made. */
    const attemptUntilSettled = async (
      request: StageRequest<Q>,
      modelTargets: ModelTargets,
      failure?: { readonly error: unknown },
    ): Promise<A> => {
      const state = routingStateFor(request, modelTargets);
      let candidate: Candidate;
      if (failure) {
        // A request for missing images is new to the candidates that are left.
        if (!request.tried) state.tried = modelTargets.candidates;
        candidate = await selectNext(
          request,
          state,
          modelTargets.candidates[0] as Candidate,
          failure.error,
        );
      } else candidate = selectFirst(request, state);
      for (;;) {
        if (queue && candidate.health.isAtHardLimit(state.context.now)) {
          const { slots } = candidate.health.concurrency;
          await queue.wait(request, slots);
          // The queue's wait takes the slot; it is released here, because the attempt counts itself as in flight.
          slots.inFlight--;
          candidate = selectAfterWait(request, state, candidate);
        }
        try {
          return await attemptWithHedge(request, state, candidate);
        } catch (error) {
          candidate = await selectNext(request, state, candidate, error);
        }
      }
    };

    return (request) => {
      const modelTargets = registry.targetsFor(request.route);
      const [only] = modelTargets.candidates;
      if (!request.tried?.failure) request.record.routing.upstreamRequests++;
      // Fast path: most models have one target, so there is nothing to select.
      if (only && modelTargets.candidates.length === 1 && !watchEnd) {
        if (only.health.canSkipMeasuring) return sendUnmeasured(request, only, modelTargets);
        only.health.sampling.countMeasured(timers);
      }
      return attemptUntilSettled(request, modelTargets, request.tried?.failure);
    };
  };

const hedgedStep = "hedged, because the first target was slow";
