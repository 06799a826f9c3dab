/**
 * The routing stage: selects a target and sends the request. After a failure, it fails over to another target or
 * retries the same one, if the error allows it and the model's retry budget has a retry left. Embeddings requests are
 * also hedged.
 */
import type { SelectionReason } from "../../contract/admin/constants.ts";
import { sleep } from "../lib/timers.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import { type TargetSelection, targetName } from "../request/timeline.ts";
import { type AttemptedRequest, type RoutingStage, TargetAttempt } from "./attempt.ts";
import { type HedgeOptions, hedgedRequest } from "./hedge.ts";
import type { Candidate, SelectionContext } from "./policies.ts";
import { errorKindOf, isUnsent, mayFailOver, retryDelayMs } from "./retry-policy.ts";
import type { RouteRequestOptions, TargetQueue } from "./routing-options.ts";
import { addSkippedSteps } from "./routing-steps.ts";
import {
  capableCandidates,
  hasUntriedHealthy,
  isBusy,
  noCapableTarget,
  noHealthyTarget,
  type ProbeMode,
  type SelectedBy,
  type SelectedTarget,
  type Selection,
  selectHealthy,
  selectTarget,
  startHealthChecks,
} from "./select-target.ts";
import type { ModelTargets } from "./target-registry.ts";

export const routeRequest =
  <Q, A>(options: RouteRequestOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const stage: RoutingStage<Q, A> = { ...options, next, lastError: undefined };
    return (request) => {
      return new RoutedRequest(stage, request).run();
    };
  };

/**
 * One request on its way to a target: the candidates, the attempts that were made, and the selection of the next target
 * after a failure.
 */
class RoutedRequest<Q, A> {
  readonly #stage: RoutingStage<Q, A>;
  readonly #request: StageRequest<Q>;
  readonly #modelTargets: ModelTargets;
  readonly #candidates: readonly Candidate[];
  /** What all attempts of the request share. */
  readonly #attempted: AttemptedRequest<Q, A>;
  /** `now`: when targets are selected. It is read from the clock again after each wait. */
  readonly #context: SelectionContext & { now: number };
  readonly #probeMode: ProbeMode;
  #tried: readonly Candidate[] | undefined;
  /** Why the target of the next attempt was selected, for the explanation in the ledger row. */
  #decision: TargetSelection | undefined;
  #hasTimedOut = false;
  /** How often the request was retried on targets that it had already tried. */
  #repeats = 0;
  /** The next retry was taken from the budget when an attempt timed out. */
  #hasTakenRetry = false;

  constructor(stage: RoutingStage<Q, A>, request: StageRequest<Q>) {
    const { registry, canServe, sizeClassOf, checkHealth } = stage;
    const { model, query, context } = request;
    const modelTargets = registry.targetsFor(model);
    const { candidates } = modelTargets;
    const sizeClass = sizeClassOf ? sizeClassOf(query) : 0;
    this.#stage = stage;
    this.#request = request;
    this.#modelTargets = modelTargets;
    const capable = canServe ? capableCandidates(candidates, request, canServe) : candidates;
    this.#candidates = context.line?.permitted(capable) ?? capable;
    this.#attempted = { stage, request, modelTargets, sizeClass, wasSent: false };
    this.#context = {
      now: registry.clock(),
      random: registry.random,
      sizeClass,
      affinityHash: model.policy === "sticky" ? Bun.hash.crc32(context.caller?.id ?? "") : 0,
      price: ({ target }) => stage.priceOf?.(request, target),
    };
    this.#probeMode = checkHealth ? "checked" : "any";
  }

  async run(): Promise<A> {
    let candidate = this.#selectFirst();
    for (;;) {
      const { health } = candidate;
      if (this.#stage.queue && health.isAtHardLimit(this.#context.now))
        candidate = await this.#waitForSlot(candidate, this.#stage.queue);
      // The hard limit was lifted: earlier requests still wait for it.
      else if (health.concurrency.slots.waiting > 0) this.#stage.queue?.admitWaiting();
      try {
        return await this.#attemptWithHedge(candidate);
      } catch (error) {
        this.#hasTimedOut ||= errorKindOf(error) === "upstream_timeout";
        candidate = await this.#selectNext(candidate, error);
      }
    }
  }

  /** Selects the first candidate, and adds to the retry and hedge budgets. */
  #selectFirst(): Candidate {
    const { model } = this.#request;
    const { budgets } = this.#modelTargets;
    const { now } = this.#context;
    if (this.#candidates.length === 0) throw noCapableTarget(model.id);
    const selected = selectTarget(this.#selection(), this.#context, this.#probeMode);
    if (!selected || selected.skippedAny) this.#recordSkipped(selected?.candidate);
    if (!selected) throw noHealthyTarget(model.id, this.#candidates, now);
    // Only requests that are sent earn budget: otherwise the requests refused in an outage would earn retries for the
    // time after it.
    budgets.retries.earn(now);
    budgets.hedges.earn();
    this.#decide(selected, selected.by);
    return selected.candidate;
  }

  #decide(
    { candidate, compared }: SelectedTarget,
    reason: SelectedBy | "failover" | "retry" | "hedge",
    failed?: Pick<TargetSelection, "failedTarget" | "failedWith">,
  ): void {
    const { candidates } = this.#modelTargets;
    const [first, last] = [candidates[0]?.tier, candidates.at(-1)?.tier];
    this.#decision = {
      by: reason === "policy" ? this.#policyOf(candidate, compared) : reason,
      compared,
      tier: first === last ? undefined : candidate.tier,
      isLaterTier: candidate.tier !== first,
      ...failed,
    };
  }

  #policyOf(candidate: Candidate, compared: number): SelectionReason {
    const { policy = "p2c" } = this.#request.model;
    if (compared === 1) return "only";
    // Targets without a known price are not compared by price.
    const isByLoad = policy === "cost" && this.#context.price(candidate) === undefined;
    return isByLoad ? "p2c" : policy;
  }

  /** Waits while the candidate is at its hard limit. Returns it if it is still healthy, or another candidate. */
  async #waitForSlot(candidate: Candidate, queue: TargetQueue<Q>): Promise<Candidate> {
    const { health } = candidate;
    const { slots } = health.concurrency;
    const waitingSince = this.#stage.registry.clock();
    const lease = await queue.wait(this.#request, slots, this.#attempted.wasSent);
    this.#readClock();
    this.#request.report.addQueueTime(this.#context.now - waitingSince);
    lease.handOver();
    if (health.state(this.#context.now) === "healthy") return candidate;
    const other = selectTarget(this.#selection(), this.#context, this.#probeMode);
    if (!other) {
      throw noHealthyTarget(this.#request.model.id, this.#candidates, this.#context.now);
    }
    this.#decide(other, other.by);
    return other.candidate;
  }

  /**
   * Selects the candidate after a failure: one that was not tried yet, or a tried one again after a backoff. Throws the
   * error if no candidate is left.
   */
  async #selectNext(failed: Candidate, error: unknown): Promise<Candidate> {
    const { report } = this.#request;
    const signal = this.#request.signal();
    const { checkHealth, registry } = this.#stage;
    if (signal.aborted || !mayFailOver(error, this.#request)) throw error;
    this.#readClock();
    const other = selectTarget(this.#selection(), this.#context, this.#probeMode);
    const waitMs = other ? 0 : this.#backoffMs(error);
    // A request that was never sent is not a retry.
    const isFree = this.#hasTakenRetry || (other && isUnsent(error));
    this.#hasTakenRetry = false;
    if (waitMs === undefined) throw error;
    if (!isFree && !this.#modelTargets.budgets.retries.spend(this.#context.now)) throw error;
    // The image stages record failed attempts themselves.
    if (!checkHealth) {
      const target = targetName(failed.target);
      report.addStep("failed", { target, error: errorKindOf(error) });
    }
    if (waitMs > 0) {
      await sleep(waitMs, signal, registry.timers);
      this.#readClock();
    }
    const again = { ...this.#selection(), tried: undefined };
    const selected = other ?? selectHealthy(again, this.#context, "none");
    if (!selected) throw error;
    this.#decide(selected, other ? "failover" : "retry", {
      failedTarget: failed.target,
      failedWith: errorKindOf(error),
    });
    return selected.candidate;
  }

  /** The backoff before a candidate is tried again. Undefined if none is available, or the error is not transient. */
  #backoffMs(error: unknown): number | undefined {
    if (this.#candidates.every(({ health }) => health.breaker.isOpen)) return undefined;
    return retryDelayMs(error, this.#request, this.#repeats++, this.#context.random);
  }

  /** Sends the request to this candidate, with a hedge to another one when it is slow. Adds both to `#tried`. */
  #attemptWithHedge(candidate: Candidate): Promise<A> {
    const { sizeClassOf, capacity } = this.#stage;
    const attempt = this.#newAttempt(candidate, false);
    // Time in the target's queue is not latency, so a busy target is not hedged.
    const isHedged =
      sizeClassOf && this.#candidates.length > 1 && !isBusy(capacity, candidate.target);
    return isHedged
      ? hedgedRequest(attempt, this.#hedgeOptions())
      : attempt.run(this.#request.signal());
  }

  #newAttempt(candidate: Candidate, isHedge: boolean): TargetAttempt<Q, A> {
    const isRepeat = this.#tried?.includes(candidate) === true;
    if (!isRepeat) this.#tried = this.#tried ? [...this.#tried, candidate] : [candidate];
    return new TargetAttempt(this.#attempted, candidate, {
      startedAt: this.#context.now,
      isHedge,
      isRepeat,
      hasTimedOut: this.#hasTimedOut,
      selection: this.#decision,
    });
  }

  #hedgeOptions(): HedgeOptions<TargetAttempt<Q, A>> {
    const { report, signal } = this.#request;
    const { registry } = this.#stage;
    const { retries } = this.#modelTargets.budgets;
    return {
      signal: signal(),
      timers: registry.timers,
      hedge: () => this.#hedge(),
      takeFailover: () => {
        const now = registry.clock();
        this.#hasTakenRetry = hasUntriedHealthy(this.#selection(), now) && retries.spend(now);
        return this.#hasTakenRetry;
      },
      isFinal: (error) => !mayFailOver(error, this.#request),
      // The target whose response or error is returned is the one in the ledger row.
      onSettled: ({ candidate }) => report.addSettled(candidate.target),
    };
  }

  #hedge(): TargetAttempt<Q, A> | undefined {
    this.#readClock();
    const { now } = this.#context;
    const other = selectHealthy(this.#selection(), this.#context, "none");
    if (!other || other.candidate.health.isAtHardLimit(now)) return undefined;
    if (!this.#modelTargets.budgets.hedges.spend()) return undefined;
    this.#decide(other, "hedge");
    this.#request.report.addStep("hedged", { target: targetName(other.candidate.target) });
    return this.#newAttempt(other.candidate, true);
  }

  #recordSkipped(selected: Candidate | undefined): void {
    const { checkHealth, registry } = this.#stage;
    const { now } = this.#context;
    const selection = this.#selection();
    addSkippedSteps(this.#request.report, selection, selected, now);
    if (checkHealth) startHealthChecks(selection, selected, now, checkHealth, registry.clock);
  }

  #selection(): Selection {
    const { policy } = this.#modelTargets;
    const { capacity } = this.#stage;
    return { candidates: this.#candidates, policy, tried: this.#tried, capacity };
  }

  #readClock(): void {
    this.#context.now = this.#stage.registry.clock();
  }
}
