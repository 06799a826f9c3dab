/**
 * The counters of limits that replicas share, as one replica knows them: the state of the last reply. Decisions are made
 * in `SharedLimits`. While it is unreachable, each replica applies its share of a limit, at least 1: the limits do not
 * fail open. When it is reachable again, its counters apply as they are: what replicas admitted meanwhile is not added.
 */
import type { RateDemand, SlotDemand, SlotState } from "../storage/redis/limits-demand.ts";
import { ConcurrencySlots, type SharedSlots } from "./concurrency-slots.ts";
import type { RateCounter, RateLimitCounters, SharedRate } from "./rate-limit-counters.ts";
import type { SharedLimiter } from "./shared-limiter.ts";
import { TokenBucket } from "./token-bucket.ts";

export const sharedRateLimitCounters = (shared: SharedLimiter): RateLimitCounters => ({
  createRate: (scope, rate, limit, now) =>
    new SharedRateCounter(shared, `${scope}:${rate}`, limit, now),
  createSlots: (scope) => new SharedConcurrencySlots(shared, scope),
});

class SharedRateCounter implements RateCounter, SharedRate {
  readonly shared = this;
  readonly #limiter: SharedLimiter;
  readonly #name: string;
  /** As of the last reply, and what this replica has taken since then while the shared limits were unreachable. */
  readonly #bucket: TokenBucket;

  constructor(limiter: SharedLimiter, name: string, limit: number, now: number) {
    this.#limiter = limiter;
    this.#name = name;
    this.#bucket = new TokenBucket(limit, now);
  }

  get limit(): number {
    return this.#bucket.limit;
  }

  remaining(now: number): number {
    return Math.floor(this.#bucket.remaining(now) / this.#assumedReplicas);
  }

  waitMs(count: number, now: number): number {
    if (count > this.limit) return Number.POSITIVE_INFINITY;
    // A request that exceeds the share but not the whole limit waits for a full bucket, and overdraws it.
    return this.#bucket.waitMs(Math.min(count * this.#assumedReplicas, this.limit), now);
  }

  msUntilFull(now: number): number {
    return this.#bucket.msUntilFull(now);
  }

  take(count: number, now: number): void {
    if (count === 0) return;
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(count, now));
    this.#bucket.take(count * this.#assumedReplicas, now);
  }

  refund(count: number, now: number): void {
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(-count, now));
    this.#bucket.refund(count * this.#assumedReplicas, now);
  }

  resize(limit: number, now: number): void {
    this.#bucket.resize(limit, now);
  }

  demand(count: number, now: number): RateDemand {
    const missing = this.#bucket.missing(now);
    return { name: this.#name, limit: this.limit, count, missing };
  }

  accept(missing: number, now: number): void {
    this.#bucket.setMissing(missing, now);
  }

  /**
   * While the shared limits are unreachable, each request counts as if every replica had admitted one: this replica
   * admits its share of the limit.
   */
  get #assumedReplicas(): number {
    return this.#limiter.isReachable ? 1 : this.#limiter.replicas;
  }
}

/** A notice of a released slot can be lost, so a replica asks at this interval while requests wait for a slot. */
const pollMs = 50;
/** An older state of slots that no request asks for is read again. */
const staleMs = 500;

class SharedConcurrencySlots extends ConcurrencySlots implements SharedSlots {
  readonly #limiter: SharedLimiter;
  readonly name: string;
  /** The limit of all replicas. */
  #sharedLimit = Number.POSITIVE_INFINITY;
  /** Slots that this replica may acquire, as of the last reply. Negative: it has asked for more. */
  #free = 0;
  /** Slots that were acquired here and are being requested from the other replicas. */
  #requested = 0;
  #sharedInFlight = 0;
  #repliedAt = Number.NEGATIVE_INFINITY;
  /** The names of the slots that this replica holds. They are interchangeable. */
  readonly #holds: string[] = [];

  constructor(limiter: SharedLimiter, name: string) {
    super(Number.POSITIVE_INFINITY);
    this.#limiter = limiter;
    this.name = name;
  }

  /** The slots of this process: those in use, and those that are probably free. */
  override get limit(): number {
    if (this.#sharedLimit === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    if (this.#limiter.isReachable) return this.inFlight + Math.max(0, this.#free);
    return Math.max(1, Math.floor(this.#sharedLimit / this.#limiter.replicas));
  }

  override set limit(limit: number) {
    const isFirst = this.#sharedLimit === Number.POSITIVE_INFINITY;
    if (limit !== Number.POSITIVE_INFINITY)
      this.#free = isFirst ? limit - this.inFlight : this.#free + limit - this.#sharedLimit;
    this.#sharedLimit = limit;
  }

  override get shared(): SharedSlots | undefined {
    return this.#sharedLimit === Number.POSITIVE_INFINITY ? undefined : this;
  }

  get sharedLimit(): number {
    return this.#sharedLimit;
  }

  override get isExhausted(): boolean {
    if (this.hasFreeSlot) return false;
    if (this.#limiter.clock() - this.#repliedAt > staleMs) void this.#limiter.read([], this);
    return true;
  }

  override get sharedInFlight(): number {
    return this.#limiter.isReachable ? this.#sharedInFlight : this.inFlight;
  }

  override acquire(): void {
    super.acquire();
    this.#free--;
    if (this.shared) this.#limiter.keep(this);
  }

  override releaseUnused(): void {
    super.releaseUnused();
    if (this.#holds.length > this.inFlight) this.#releaseShared();
  }

  override release(heldMs: number): void {
    super.release(heldMs);
    this.#releaseShared();
  }

  #releaseShared(): void {
    const isLacking = this.#free++ <= 0;
    const hold = this.#holds.pop();
    if (hold !== undefined) this.#limiter.releaseSlot({ name: this.name, hold }, isLacking);
  }

  override refresh(now: number): number {
    if (this.#sharedLimit === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    if (this.waiting > 0 && now - this.#repliedAt >= pollMs) this.assumeFree();
    return pollMs;
  }

  demand(): SlotDemand {
    this.#requested++;
    return { name: this.name, limit: this.#sharedLimit };
  }

  accept(state: SlotState, hold: string | undefined, now: number): void {
    this.#requested--;
    this.read(state, now);
    if (hold !== undefined) this.#holds.push(hold);
  }

  fail(): void {
    this.#requested--;
    this.#free++;
  }

  read({ inFlight, available }: SlotState, now: number): void {
    this.#sharedInFlight = inFlight;
    this.#free = available - this.#requested;
    this.#repliedAt = now;
  }

  assumeFree(): void {
    this.#free = Math.max(1, this.#free);
  }

  held(newHold: () => string): readonly string[] {
    while (this.#holds.length < this.inFlight - this.#requested) this.#holds.push(newHold());
    return this.#holds;
  }
}
