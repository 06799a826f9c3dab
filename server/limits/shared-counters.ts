/**
 * The counters of limits that replicas share, as one replica knows them: the state of the last reply. Decisions are made
 * in `SharedLimits`. While it is unreachable, each replica applies its share of a limit, at least 1: the limits do not
 * fail open.
 */
import type { RateDemand, SlotDemand, SlotState } from "../storage/redis/limits-demand.ts";
import { ConcurrencySlots, type SharedSlots } from "./concurrency-slots.ts";
import type { RateCounter, RateLimitCounters, SharedRate } from "./rate-limit-counters.ts";
import type { SharedLimiter } from "./shared-limiter.ts";
import { partsPerItem, TokenBucket } from "./token-bucket.ts";

export const sharedRateLimitCounters = (shared: SharedLimiter): RateLimitCounters => ({
  createRate: (scope, rate, limit, now) =>
    new SharedRateCounter(shared, `${scope}:${rate}`, limit, now),
  createSlots: (scope) => new SharedConcurrencySlots(shared, scope),
});

class SharedRateCounter implements RateCounter, SharedRate {
  readonly shared = this;
  readonly #limiter: SharedLimiter;
  readonly #name: string;
  /** As of the last reply. */
  readonly #bucket: TokenBucket;
  /** Only while the shared limits are unreachable. */
  #share: TokenBucket | undefined;

  constructor(limiter: SharedLimiter, name: string, limit: number, now: number) {
    this.#limiter = limiter;
    this.#name = name;
    this.#bucket = new TokenBucket(limit, now);
  }

  get limit(): number {
    return this.#bucket.limit;
  }

  remaining(now: number): number {
    return (this.#shareAt(now) ?? this.#bucket).remaining(now);
  }

  waitMs(count: number, now: number): number {
    if (count > this.limit) return Number.POSITIVE_INFINITY;
    const share = this.#shareAt(now);
    // A request that exceeds this share but not the whole limit waits for a full bucket, and overdraws it.
    return share
      ? share.waitMs(Math.min(count, share.limit), now)
      : this.#bucket.waitMs(count, now);
  }

  msUntilFull(now: number): number {
    return (this.#shareAt(now) ?? this.#bucket).msUntilFull(now);
  }

  take(count: number, now: number): void {
    if (count > 0) this.#change(count, now);
  }

  refund(count: number, now: number): void {
    this.#change(-count, now);
  }

  resize(limit: number, now: number): void {
    this.#bucket.resize(limit, now);
    this.#share = undefined;
  }

  demand(count: number, now: number): RateDemand {
    const missing = this.#bucket.missing(now);
    return { name: this.#name, limit: this.limit, count, missing };
  }

  accept(missing: number, now: number): void {
    this.#bucket.setMissing(missing, now);
  }

  #change(count: number, now: number): void {
    const share = this.#shareAt(now);
    // What is taken from the share, and has not refilled, counts in the shared bucket as soon as that is reachable again.
    if (share) this.#limiter.owe(this, share.limit, count);
    else this.#limiter.settleRate(this.demand(count, now));
    const bucket = share ?? this.#bucket;
    if (count > 0) bucket.take(count, now);
    else bucket.refund(-count, now);
  }

  #shareAt(now: number): TokenBucket | undefined {
    if (this.#limiter.isReachable) {
      this.#share = undefined;
      return undefined;
    }
    this.#share ??= this.#createShare(now);
    return this.#share;
  }

  /** The bucket starts with this replica's share of the remainder. */
  #createShare(now: number): TokenBucket {
    const { replicas } = this.#limiter;
    const limit = Math.max(1, Math.floor(this.limit / replicas));
    const missing = Math.ceil(this.#bucket.missing(now) / replicas);
    const share = new TokenBucket(limit, now);
    share.setMissing(Math.min(missing, limit * partsPerItem), now);
    return share;
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

  override giveBack(): void {
    super.giveBack();
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
