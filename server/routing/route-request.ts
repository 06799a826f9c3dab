/**
 * The routing stage: selects a target and sends the request. After a failure, it fails over to another target or
 * retries the same one, if the error allows it and the model's retry budget has a retry left. Embeddings requests are
 * also hedged.
 */
import { sleep, type Timers } from "../lib/timers.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import { type RoutingStage, TargetAttempt } from "./attempt.ts";
import { type HedgedRequestOptions, hedgedRequest } from "./hedge.ts";
import type { Candidate, Policy, SelectionContext } from "./policies.ts";
import {
  errorKindOf,
  isUnsent,
  mayBillFailedAttempt,
  mayFailOver,
  retryDelayMs,
  selectRetryTarget,
} from "./retry-policy.ts";
import type { RouteRequestOptions } from "./routing-options.ts";
import { addSkippedSteps, addStep } from "./routing-steps.ts";
import {
  capableCandidates,
  hasUntriedHealthy,
  isBusy,
  noCapableTarget,
  noHealthyTarget,
  type SelectedBy,
  type Selection,
  selectHealthy,
  selectTarget,
  startHealthChecks,
  type TargetCapacity,
  untriedCandidates,
} from "./select-target.ts";
import type { ModelTargets } from "./target-registry.ts";

const hedgedStep = "hedged, because the first target was slow";

export const routeRequest =
  <Q, A>(options: RouteRequestOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const stage: RoutingStage<Q, A> = { ...options, next, lastError: undefined };
    return (request) => {
      const { failure } = request.tried ?? {};
      if (!failure) request.record.routing.routedRequests++;
      return new RoutedRequest(stage, request).run(failure);
    };
  };

/**
 * One request on its way to a target: the candidates, the attempts that were made, and the selection of the next target
 * after a failure.
 */
class RoutedRequest<Q, A>
  implements Selection, SelectionContext, HedgedRequestOptions<A, TargetAttempt<Q, A>>
{
  readonly stage: RoutingStage<Q, A>;
  readonly request: StageRequest<Q>;
  readonly modelTargets: ModelTargets;
  readonly candidates: readonly Candidate[];
  readonly policy: Policy;
  readonly capacity: TargetCapacity | undefined;
  tried: readonly Candidate[] | undefined;
  skippedAny = false;
  selectedBy: SelectedBy = "policy";
  compared = 0;
  /** The time at which targets are selected. It is read from the clock again after each wait. */
  now: number;
  readonly random: () => number;
  readonly sizeClass: number;
  readonly affinityHash: number;
  hasTimedOut = false;
  /** How often the request was retried on targets that it had already tried. */
  #repeats = 0;
  /** `takeFailover` has taken the next retry from the budget. */
  #hasTakenRetry = false;
  /** For a request whose attempts have all timed out: when it last tried each candidate. */
  #attemptedAt: Map<Candidate, number> | undefined;

  constructor(stage: RoutingStage<Q, A>, request: StageRequest<Q>) {
    const { registry, canServe, sizeClassOf, capacity } = stage;
    const { model, query, record, tried } = request;
    this.stage = stage;
    this.request = request;
    this.modelTargets = registry.targetsFor(model);
    const { candidates, policy } = this.modelTargets;
    const untried = tried ? untriedCandidates(candidates, tried) : candidates;
    this.candidates = canServe ? capableCandidates(untried, request, canServe) : untried;
    this.policy = policy;
    this.capacity = capacity;
    this.now = registry.clock();
    this.random = registry.random;
    this.sizeClass = sizeClassOf ? sizeClassOf(query) : 0;
    this.affinityHash = model.policy === "sticky" ? Bun.hash.crc32(record.caller?.id ?? "") : 0;
  }

  /** `failure`: set for a request for missing images: the error of the targets that did not generate them. */
  async run(failure?: { readonly error: unknown }): Promise<A> {
    let candidate = failure
      ? await this.#selectNext(this.modelTargets.candidates[0] as Candidate, failure.error)
      : this.#selectFirst();
    const { queue } = this.stage;
    for (;;) {
      if (queue && candidate.health.isAtHardLimit(this.now)) {
        const { slots } = candidate.health.concurrency;
        const waitingSince = this.stage.registry.clock();
        await queue.wait(this.request, slots);
        this.request.record.queuedMs += this.stage.registry.clock() - waitingSince;
        // `queue.wait` has acquired a slot. The slot is released here, because the attempt counts itself as in flight.
        slots.inFlight--;
        candidate = this.#selectAfterWait(candidate);
      } else if (candidate.health.concurrency.slots.waiting > 0) {
        // The hard limit was lifted: earlier requests still wait for it.
        queue?.admitWaiting();
      }
      try {
        return await this.#attemptWithHedge(candidate);
      } catch (error) {
        this.hasTimedOut ||= errorKindOf(error) === "upstream_timeout";
        candidate = await this.#selectNext(candidate, error);
      }
    }
  }

  /** The expected price of the request at a candidate, for the routing policy. */
  price({ target }: Candidate): number | undefined {
    return this.stage.priceOf?.(this.request, target);
  }

  /** Selects the first candidate, and adds to the retry and hedge budgets. */
  #selectFirst(): Candidate {
    const { model } = this.request;
    const { budgets } = this.modelTargets;
    if (this.candidates.length === 0) throw noCapableTarget(model.id);
    const candidate = selectTarget(this, this, this.#probeMode);
    if (this.skippedAny) this.#recordSkipped(candidate);
    if (!candidate) throw noHealthyTarget(model.id, this.candidates, this.now);
    // Only requests that are sent earn budget: otherwise the requests refused in an outage would earn retries for the
    // time after it.
    budgets.retries.earn(this.now);
    budgets.hedges.earn();
    this.#recordSelection(candidate, this.selectedBy);
    return candidate;
  }

  /** For the explanation in the ledger row why the target was selected. */
  #recordSelection(candidate: Candidate, reason: SelectedBy | "failover" | "hedge"): void {
    const { model, record } = this.request;
    const { candidates } = this.modelTargets;
    // Targets without a known price are not compared by price.
    const isByLoad = model.policy === "cost" && this.price(candidate) === undefined;
    const policy = isByLoad ? "p2c" : model.policy;
    const hasTiers = candidates[0]?.tier !== candidates.at(-1)?.tier;
    record.routing.recordSelection({
      target: candidate.target,
      compared: this.compared,
      policy: reason === "policy" ? policy : reason,
      tier: hasTiers ? candidate.tier : undefined,
    });
  }

  /** After a wait for a slot: the candidate that was waited for, if it is still available, or another. */
  #selectAfterWait(waitedFor: Candidate): Candidate {
    const isSingle = this.candidates.length === 1;
    this.#readClock();
    if (waitedFor.health.state(this.now, isSingle) === "available") return waitedFor;
    const candidate = selectTarget(this, this, this.#probeMode);
    if (!candidate) throw noHealthyTarget(this.request.model.id, this.candidates, this.now);
    this.#recordSelection(candidate, this.selectedBy);
    return candidate;
  }

  /**
   * Selects the candidate after a failure: one that was not tried yet, or a tried one again after a backoff. Throws the
   * error if no candidate is left.
   */
  async #selectNext(failed: Candidate, error: unknown): Promise<Candidate> {
    const { record, signal } = this.request;
    if (signal.aborted || !mayFailOver(error, this.request)) throw error;
    if (mayBillFailedAttempt(error)) record.cost.earlierAttemptMayBeBilled = true;
    this.#readClock();
    const other = selectTarget(this, this, this.#probeMode);
    const waitMs = other ? this.#failoverDelayMs(error) : this.#backoffMs(error);
    this.#hasTakenRetry = false;
    if (waitMs === undefined) throw error;
    // The image stages record failed attempts themselves.
    if (!this.stage.checkHealth) addStep(record, failed.target, errorKindOf(error));
    if (waitMs > 0) {
      await sleep(waitMs, signal, this.timers);
      this.#readClock();
    }
    const { candidates, policy, capacity } = this;
    const selected =
      other ?? selectHealthy({ candidates, policy, capacity, tried: undefined }, this, "none");
    if (!selected) throw error;
    this.#recordSelection(selected, "failover");
    return selected;
  }

  /** Undefined: the retry budget allows no further attempt. */
  #failoverDelayMs(error: unknown): number | undefined {
    // A request that was never sent is not a retry.
    if (isUnsent(error) || this.#hasTakenRetry) return 0;
    return this.modelTargets.budgets.retries.take(this.now, this.random);
  }

  /** The backoff before a candidate is tried again. Undefined: none is available, or no further attempt is allowed. */
  #backoffMs(error: unknown): number | undefined {
    if (this.candidates.every(({ health }) => health.breaker.open)) return undefined;
    const delayMs = retryDelayMs(error, this.request, this.#repeats++, this.random);
    if (delayMs === undefined || this.#hasTakenRetry) return delayMs;
    return this.modelTargets.budgets.retries.spend(this.now) ? delayMs : undefined;
  }

  /** Sends the request to this candidate, with a hedge to another one when it is slow. Adds both to `tried`. */
  #attemptWithHedge(candidate: Candidate): Promise<A> {
    const role = this.tried?.includes(candidate) ? "repeat" : "first";
    this.#addTried(candidate);
    const attempt = new TargetAttempt(this, candidate, role);
    const { sizeClassOf, isBuiltIn } = this.stage;
    const { target } = candidate;
    // Time in the target's queue is not latency, so a busy target is not hedged.
    const isOnlyBuiltIn = this.hasOneTarget && isBuiltIn?.(target);
    return !sizeClassOf || isOnlyBuiltIn || isBusy(this.capacity, target)
      ? attempt.run(this.signal)
      : hedgedRequest(attempt, this);
  }

  // The members of `HedgedRequestOptions`:

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get hasOneTarget(): boolean {
    return this.candidates.length === 1;
  }

  cancelAtEnd(): void {
    this.request.deadline.abortAtEnd();
  }

  get timers(): Timers {
    return this.stage.registry.timers;
  }

  hedge(): TargetAttempt<Q, A> | undefined {
    this.#readClock();
    const { hedges, retries } = this.modelTargets.budgets;
    const other = selectHealthy(this, this, "none");
    if (!other || other.health.isAtHardLimit(this.now)) return undefined;
    // A hedge takes one from each budget, or nothing from either.
    if (!hedges.hasHedge || !retries.spend(this.now)) return undefined;
    hedges.spend();
    this.#addTried(other);
    this.#recordSelection(other, "hedge");
    addStep(this.request.record, other.target, hedgedStep);
    return new TargetAttempt(this, other, "hedge");
  }

  takeFailover(): boolean {
    const now = this.stage.registry.clock();
    this.#hasTakenRetry =
      hasUntriedHealthy(this, now) && this.modelTargets.budgets.retries.spend(now);
    return this.#hasTakenRetry;
  }

  /** One more attempt on any candidate that is available now, including those already tried. */
  extra(running: readonly TargetAttempt<Q, A>[]): TargetAttempt<Q, A> | undefined {
    this.#readClock();
    const { peers, budgets } = this.modelTargets;
    this.#attemptedAt ??= this.#recordSilence(running);
    const attemptedAt = this.#attemptedAt;
    const candidate = selectRetryTarget({ selection: this, context: this, peers, attemptedAt });
    if (!candidate || candidate.health.isAtHardLimit(this.now)) return undefined;
    if (!budgets.retries.spend(this.now)) return undefined;
    this.hasTimedOut = true;
    attemptedAt.set(candidate, this.now);
    if (!this.tried?.includes(candidate)) this.#addTried(candidate);
    const isSame = running.some((each) => each.candidate === candidate);
    const step = isSame ? "retried, because it did not respond" : hedgedStep;
    if (!isSame) this.#recordSelection(candidate, "hedge");
    addStep(this.request.record, candidate.target, step);
    return new TargetAttempt(this, candidate, isSame ? "repeat" : "hedge");
  }

  isFinal(error: unknown): boolean {
    return !mayFailOver(error, this.request);
  }

  /** The target whose response or error is returned is the one in the ledger row. */
  onSettled({ candidate }: TargetAttempt<Q, A>): void {
    this.request.record.routing.target = candidate.target;
  }

  /** Upstreams may bill canceled requests. */
  onWasted(error?: unknown): void {
    if (error === undefined || mayBillFailedAttempt(error))
      this.request.record.cost.earlierAttemptMayBeBilled = true;
  }

  #recordSilence(running: readonly TargetAttempt<Q, A>[]): Map<Candidate, number> {
    for (const { candidate, responseCount } of running)
      candidate.health.recordSilence(this.now, responseCount);
    return new Map(running.map(({ candidate, startedAt }) => [candidate, startedAt]));
  }

  #recordSkipped(selected: Candidate | undefined): void {
    const { checkHealth, registry } = this.stage;
    addSkippedSteps(this.request.record, this, selected, this.now);
    if (checkHealth) startHealthChecks(this, selected, this.now, checkHealth, registry.clock);
  }

  get #probeMode(): "checked" | "any" {
    return this.stage.checkHealth ? "checked" : "any";
  }

  #addTried(candidate: Candidate): void {
    this.tried = this.tried ? [...this.tried, candidate] : [candidate];
  }

  #readClock(): void {
    this.now = this.stage.registry.clock();
  }
}
