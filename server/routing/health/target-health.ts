/**
 * The health of one target, learned from its requests: the state machine (circuit breaker and cool-down), the adaptive
 * concurrency limit and the latency.
 */
import type { Target } from "../../upstream/contract.ts";
import { AdaptiveConcurrency, minimumLimit } from "./adaptive-concurrency.ts";
import { CircuitBreaker, FailedRequests, type TargetState } from "./circuit-breaker.ts";
import type { AttemptOutcome } from "./classify-outcome.ts";
import { LatencyStats } from "./latency-stats.ts";

/** A target was ejected or has recovered, for the log and events. */
export interface TargetChange {
  readonly transition: "ejected" | "recovered";
  readonly target: Target;
  /** For the operator. */
  readonly reason: string;
}

interface HealthOptions {
  readonly random: () => number;
  readonly onChange: (change: TargetChange) => void;
}

const maxErrors = 5;
/** The cool-down after a rate limit error without `retry-after`. */
const rateLimitMs = 1000;
/** The cool-down after an error about the gateway's API key or credit. */
const refusedMs = 30_000;
export const rateLimit = "its rate limit is reached";
/** A target that has responded within this time serves a part of its requests. */
const servesMs = 500;

interface TargetError {
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
  readonly latency = new LatencyStats();
  readonly concurrency = new AdaptiveConcurrency();
  readonly failedRequests = new FailedRequests();
  readonly #onChange: HealthOptions["onChange"];
  /** The free health check of an ejected image target, while others serve. */
  #check: "none" | "running" | "passed" = "none";
  /** When it last served a request, or rejected one for a valid reason. */
  #respondedAt = Number.NEGATIVE_INFINITY;
  /** The target rejected the gateway's key or credit at the last request. */
  #isRefused = false;

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

  state(now: number): TargetState {
    return this.breaker.state(now);
  }

  /**
   * For a target whose probes are billed: whether a client's request may be the probe. A health check comes first, but
   * some upstreams have none that works.
   */
  get mayBePaidProbe(): boolean {
    return this.#check === "passed" || this.breaker.isBackoffAtMax;
  }

  /** A request goes to another target although this one is due for a probe. `checkHealth`: the free health check. */
  skipPaidProbe(checkHealth: (target: Target) => Promise<boolean>, clock: () => number): void {
    this.breaker.hasPaidProbes = true;
    if (this.#check !== "none") return;
    this.#check = "running";
    const onChecked = (isUp: boolean): void => {
      this.#check = isUp ? "passed" : "none";
      if (!isUp) this.breaker.recordFailedCheck(clock());
    };
    checkHealth(this.target).then(onChecked, () => onChecked(false));
  }

  /** Milliseconds until it may get a request if no other target can serve. */
  waitMs(now: number): number {
    const blockedMs = this.breaker.blockedMs(now);
    return this.breaker.isOpen
      ? Math.max(blockedMs, this.breaker.probeWaitMs(now, true))
      : blockedMs;
  }

  /** It gets no requests because of its rate limit, and not because it fails. */
  isRateLimited(now: number): boolean {
    const { breaker } = this;
    return !breaker.isOpen && breaker.blockedMs(now) > 0 && breaker.reason(now) === rateLimit;
  }

  /**
   * It is at its hard concurrency limit, so another request queues. Requests to an ejected target are probes and do not
   * queue.
   */
  isAtHardLimit(now: number): boolean {
    return this.concurrency.isHardLimited && !this.breaker.isOpen && this.concurrency.isFull(now);
  }

  /** The target served a request and reported that its quota is used up: part of it is back before `waitMs`. */
  recordExhausted(now: number, waitMs: number): void {
    this.breaker.coolDown(now, waitMs, "quota", rateLimit);
  }

  /** A request starts. True: it is a half-open probe. */
  start(now: number): boolean {
    this.inFlight++;
    const isProbe = this.breaker.start(now);
    if (isProbe) this.#check = "none";
    return isProbe;
  }

  recordSuccess(now: number, startedAt: number, tookMs: number, size: number): void {
    this.concurrency.increase();
    this.counts.responses++;
    this.#end(startedAt);
    this.latency.add(now, tookMs, size);
    this.#onResponse(now, startedAt);
  }

  /**
   * An attempt ended without success: the target sent an error or nothing, or the attempt was canceled or not sent.
   * `isLast`: no other target of the model is healthy. `isOfOneClient`: the failures are those of one client, and the
   * model serves others.
   */
  recordEnd(
    now: number,
    startedAt: number,
    outcome: AttemptOutcome,
    isLast: () => boolean,
    isOfOneClient: () => boolean = () => false,
  ): void {
    this.#end(startedAt);
    switch (outcome.kind) {
      case "neutral":
        return;
      case "reachable":
        this.#onResponse(now, startedAt);
        return;
      case "rate-limited":
        this.counts.limited++;
        this.concurrency.onOverload(now);
        if (outcome.waitMs === undefined)
          this.breaker.coolDown(now, rateLimitMs, "guess", rateLimit);
        else this.breaker.coolDown(now, outcome.waitMs, "retry-after", rateLimit);
        return;
      case "refused":
        this.counts.refused++;
        if (!this.#isRefused) this.#report("ejected", outcome.errorKind);
        this.#isRefused = true;
        this.breaker.coolDown(now, refusedMs, "guess", outcome.errorKind);
        return;
      case "failure":
        this.counts.failed++;
        this.#onFailure(now, outcome, isLast, isOfOneClient);
    }
  }

  addError(error: TargetError): void {
    this.lastErrors = [error, ...this.lastErrors.slice(0, maxErrors - 1)];
  }

  #end(startedAt: number): void {
    this.inFlight--;
    this.breaker.end(startedAt);
  }

  #onFailure(
    now: number,
    { errorKind, waitMs }: AttemptOutcome & { kind: "failure" },
    isLast: () => boolean,
    isOfOneClient: () => boolean,
  ): void {
    const isOverload = errorKind === "upstream_overloaded";
    if (isOverload) this.concurrency.onOverload(now);
    else if (errorKind === "upstream_timeout") this.concurrency.onTimeout(now);
    if (waitMs !== undefined) this.breaker.coolDown(now, waitMs, "retry-after", errorKind);
    // With other requests in flight, overload is not a sign that the target is broken.
    if (isOverload && this.inFlight >= minimumLimit) return;
    if ((this.#mayBeByInput(now, errorKind) || isOfOneClient()) && isLast()) return;
    if (!this.breaker.recordFailure(now, errorKind)) return;
    this.#check = "none";
    this.#report("ejected", this.breaker.reason(now));
  }

  /**
   * Whether the failure may be that of one input: a timeout or an invalid response, or any failure of a target that
   * serves other requests. The last healthy target of a model is not ejected for it: otherwise the inputs of one client
   * would take the model from all clients.
   */
  #mayBeByInput(now: number, errorKind: string): boolean {
    return (
      errorKind === "upstream_timeout" ||
      errorKind === "upstream_invalid" ||
      now - this.#respondedAt < servesMs
    );
  }

  /** The target served a request, or rejected one for a valid reason. */
  #onResponse(now: number, startedAt: number): void {
    this.#respondedAt = now;
    const hasClosed = this.breaker.recordSuccess(startedAt);
    if ((hasClosed || this.#isRefused) && !this.breaker.isOpen) {
      this.#isRefused = false;
      this.#report("recovered", "it responded");
    }
  }

  #report(transition: TargetChange["transition"], reason: string): void {
    this.#onChange({ transition, target: this.target, reason });
  }
}
