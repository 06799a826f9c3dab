/**
 * The health of one target, learned from its requests: circuit breaker, cool-down, latency and adaptive concurrency
 * limit.
 */
import type { Target } from "../../upstream/contract.ts";
import { AdaptiveConcurrency, CoolDown, minimumLimit } from "./adaptive-concurrency.ts";
import { CircuitBreaker, HalfOpenProbe, isOutlier, OutcomeWindow } from "./circuit-breaker.ts";
import type { AttemptOutcome } from "./classify-outcome.ts";
import { LatencyStats, sizeClasses } from "./latency-stats.ts";

/** A target was ejected or has recovered, for the log and events. */
export interface TargetChange {
  readonly transition: "ejected" | "recovered";
  readonly target: Target;
  /** For the operator. */
  readonly reason: string;
}

export interface HealthOptions {
  readonly random: () => number;
  readonly onChange: (change: TargetChange) => void;
}

/**
 * `available`: the target serves requests. `probe`: ejected, and one request may be the half-open probe. `degraded`:
 * used only if no other target is available. `unavailable`: not used.
 */
export type TargetState = "available" | "probe" | "degraded" | "unavailable";

/** With this many requests in flight and no response for `silenceMs`, other targets are preferred. */
export const silentRequestsLimit = 5;
export const silenceMs = 1500;
const maxErrors = 5;

export interface TargetError {
  readonly at: number;
  readonly kind: string;
  readonly message: string;
}

export class TargetHealth {
  /** The target as in the newest configuration. */
  target: Target;
  /** Outcomes since the gateway started. */
  readonly counts = { responses: 0, failed: 0, limited: 0, refused: 0 };
  /** The latest errors, newest first, for the operator. `at`: milliseconds, monotonic. */
  lastErrors: readonly TargetError[] = [];
  readonly breaker: CircuitBreaker;
  readonly coolDown = new CoolDown();
  readonly latency = new LatencyStats();
  readonly #window = new OutcomeWindow();
  readonly concurrency = new AdaptiveConcurrency();
  readonly #onChange: HealthOptions["onChange"];
  /** The probe state of an image target while the target is ejected. */
  #probe: HalfOpenProbe | undefined;
  /** Counts responses that are not failures. */
  responseCount = 0;
  /** When the current silence began: at the last response, or at the first request after an idle time. */
  #silentSince = 0;
  #lastResponseAt = Number.NEGATIVE_INFINITY;
  /** Requests that timed out since its last response. */
  #silentRequests = 0;
  /** Ejected because it did not respond: then any response shows that it has recovered. */
  #ejectedForSilence = false;

  constructor(target: Target, { random, onChange }: HealthOptions) {
    this.target = target;
    this.breaker = new CircuitBreaker(random);
    this.#onChange = onChange;
  }

  get inFlight(): number {
    return this.concurrency.slots.inFlight;
  }

  set inFlight(count: number) {
    this.concurrency.slots.inFlight = count;
  }

  /** Neither cooling down nor ejected. True for most targets, and needs no clock. */
  get isHealthy(): boolean {
    return this.coolDown.isOver && !this.breaker.open;
  }

  /**
   * A request exceeded its attempt timeout and is still waiting. Several of these eject the target, so that new
   * requests do not wait as well. A request does not count if the target has responded to others since it started,
   * because then the target is only busy. `countAtStart`: `responseCount` when the request started.
   */
  recordSilence(now: number, countAtStart: number): void {
    if (
      this.responseCount > countAtStart ||
      ++this.#silentRequests < silentRequestsLimit ||
      this.breaker.open
    )
      return;
    this.#ejectedForSilence = true;
    this.breaker.eject(now, `${this.#silentRequests} requests without a response`, false);
    this.#report("ejected", this.breaker.reason);
  }

  /** Why it gets no requests, for the operator. */
  get reason(): string {
    if (this.breaker.open) return this.breaker.reason;
    return this.coolDown.isOver
      ? "requests wait, and it has not responded to any of them"
      : this.coolDown.reason;
  }

  /** `alone`: the model has no other target. Then it is probed every second, however long it has been ejected. */
  state(now: number, alone: boolean): TargetState {
    if (this.isHealthy) return !alone && this.#isSilent(now) ? "degraded" : "available";
    const isCooling = this.coolDown.leftMs(now) > 0;
    if (isCooling && this.coolDown.isExplicit) return "unavailable";
    // A guessed rate limit cool-down does not delay the probe of an ejected target.
    if (!this.breaker.open) return isCooling ? "degraded" : "available";
    if (this.breaker.waitMs(now, alone) === 0) return "probe";
    return this.breaker.partial ? "degraded" : "unavailable";
  }

  /** For a target whose probes are billed and that is due for one: whether this request may be the probe. */
  mayProbe(now: number): boolean {
    return this.#probe?.mayProbe(now) === true;
  }

  /** A request goes to another target although this one is due for a probe. `checkHealth`: the free health check. */
  skipProbe(
    now: number,
    checkHealth: (target: Target) => Promise<boolean>,
    clock: () => number,
  ): void {
    this.#probe ??= new HalfOpenProbe(now);
    const probe = this.#probe;
    if (!probe.skip()) return;
    const onChecked = (isUp: boolean): void => {
      probe.onChecked(isUp);
      if (!isUp && probe === this.#probe) this.breaker.checkFailed(clock());
    };
    checkHealth(this.target).then(onChecked, () => onChecked(false));
  }

  /** Milliseconds until it may get a request if no other target can serve. */
  waitMs(now: number): number {
    const cooling = this.coolDown.isExplicit ? this.coolDown.leftMs(now) : 0;
    return this.breaker.open ? Math.max(cooling, this.breaker.waitMs(now, true)) : cooling;
  }

  /** Unavailable because of its rate limit, and not because it fails. */
  isRateLimited(now: number): boolean {
    const { isExplicit, isForRateLimit } = this.coolDown;
    return isExplicit && isForRateLimit && this.coolDown.leftMs(now) > 0 && !this.breaker.open;
  }

  /**
   * It is at its hard concurrency limit, so another request queues. Requests to an ejected target are probes and do not
   * queue.
   */
  isAtHardLimit(now: number): boolean {
    if (this.breaker.open || !this.concurrency.isHardLimited) return false;
    // The requests in flight at a silent target say nothing about its capacity.
    if (this.#isSilent(now)) this.concurrency.liftHardLimit();
    return this.concurrency.isFull(now);
  }

  /** The target responded to any request after `time`. */
  hasRespondedSince(time: number): boolean {
    return this.#lastResponseAt > time;
  }

  /** The number of outcomes behind `failureRate`. */
  sampleCount(now: number): number {
    return this.#window.count(now);
  }

  failureRate(now: number): number {
    return this.#window.failureRate(now);
  }

  /** A request starts. True: it is a half-open probe. */
  start(now: number): boolean {
    if (this.inFlight === 0) this.#silentSince = now;
    this.inFlight++;
    if (!this.breaker.open) return false;
    this.breaker.startProbe(now);
    return true;
  }

  /** `peers`: all targets of the model, including this one. */
  recordSuccess(
    now: number,
    tookMs: number,
    size: number,
    probe: boolean,
    peers: readonly TargetHealth[],
  ): void {
    this.concurrency.increase();
    this.counts.responses++;
    this.inFlight--;
    this.#window.add(now, true);
    this.latency.add(now, tookMs, size);
    this.#onResponse(now, probe, peers);
  }

  /** An attempt ended without success: the target sent an error or nothing, or the attempt was canceled or not sent. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case per outcome of an attempt.
  recordEnd(
    now: number,
    outcome: AttemptOutcome,
    probe: boolean,
    peers: readonly TargetHealth[],
  ): void {
    const { kind } = outcome;
    if (kind === "reachable" || kind === "failure") this.#window.add(now, kind === "reachable");
    this.inFlight--;
    if (hasResponded(outcome)) this.#silentSince = now;
    if (outcome.kind !== "failure" && outcome.kind !== "reachable")
      this.breaker.releaseProbe(now, probe);
    switch (outcome.kind) {
      case "neutral":
        return;
      case "reachable":
        this.#onResponse(now, probe, peers);
        return;
      case "rate-limited":
        this.counts.limited++;
        this.concurrency.onOverload(now);
        this.coolDown.onRateLimit(now, outcome.waitMs);
        return;
      case "refused":
        this.counts.refused++;
        if (!this.coolDown.isRefused) this.#report("ejected", outcome.errorKind);
        this.coolDown.onRefused(now, outcome.errorKind);
        return;
      case "failure":
        this.counts.failed++;
        if (outcome.errorKind === "upstream_overloaded") this.concurrency.onOverload(now);
        else if (outcome.busy) this.concurrency.onTimeout(now);
        if (outcome.waitMs !== undefined)
          this.coolDown.start(now, outcome.waitMs, true, outcome.errorKind);
        // With other requests in flight, overload is not a sign that the target is broken.
        if (
          outcome.errorKind === "upstream_overloaded" &&
          this.inFlight >= minimumLimit &&
          !this.breaker.open
        )
          return;
        if (probe) this.#probe?.failed(now);
        // A target without peers that returns an invalid response may succeed with the next input.
        if (outcome.errorKind === "upstream_invalid" && peers.length === 1) {
          this.breaker.releaseProbe(now, probe);
        } else if (this.breaker.recordFailure(now, probe, outcome.errorKind)) {
          this.#report("ejected", this.breaker.reason);
        } else if (!this.breaker.open) this.#ejectIfOutlier(now, peers);
    }
  }

  addError(error: TargetError): void {
    this.lastErrors = [error, ...this.lastErrors.slice(0, maxErrors - 1)];
  }

  #isSilent(now: number): boolean {
    const silent = this.inFlight < silentRequestsLimit ? 0 : now - this.#silentSince;
    if (silent < silenceMs) return false;
    // Silence of up to twice the p99 is normal: if one request may take a minute, so may all five.
    for (let size = 0; size < sizeClasses; size++)
      if (silent < 2 * (this.latency.p99Ms(size) ?? 0)) return false;
    return true;
  }

  /** The target served a request, or rejected one for a valid reason. `probe`: that request was a half-open probe. */
  #onResponse(now: number, probe: boolean, peers: readonly TargetHealth[]): void {
    this.responseCount++;
    this.#silentSince = now;
    this.#lastResponseAt = now;
    this.#silentRequests = 0;
    const showsRecovery = probe || this.#ejectedForSilence;
    const wasRefused = this.coolDown.isRefused;
    // If no other target is available, the first success is enough.
    const isOnlyOption =
      showsRecovery &&
      !peers.some((peer) => peer !== this && peer.state(now, false) === "available");
    const recovered = this.breaker.recordSuccess(now, showsRecovery, isOnlyOption);
    this.coolDown.onResponse();
    if (recovered) {
      this.#ejectedForSilence = false;
      this.#probe = undefined;
      this.#window.clear();
      this.concurrency.resetAfterRecovery(now);
    }
    if ((recovered || wasRefused) && !this.breaker.open) this.#report("recovered", "it responded");
  }

  #ejectIfOutlier(now: number, peers: readonly TargetHealth[]): void {
    if (!isOutlier(this, peers, now)) return;
    this.breaker.eject(
      now,
      `${Math.round(this.failureRate(now) * 100)} % of its requests fail`,
      true,
    );
    this.#report("ejected", this.breaker.reason);
  }

  #report(transition: TargetChange["transition"], reason: string): void {
    this.#onChange({ transition, target: this.target, reason });
  }
}

/** The target responded, even if with an error. */
const hasResponded = (outcome: AttemptOutcome): boolean =>
  outcome.kind !== "neutral" &&
  (outcome.kind !== "failure" || outcome.errorKind !== "upstream_timeout");
