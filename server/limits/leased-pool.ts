/**
 * Shared limits of several replicas: each replica leases slices of a shared pool and spends them synchronously, without
 * I/O. Slices are renewed and refilled in the background and given back when they are not used. The slice of a replica
 * that dies expires.
 */
import type { LeaseReply, LeaseRequest, SharedLeases } from "../storage/ports/shared-leases.ts";
import { PoolEstimate } from "./pool-estimate.ts";

/** The connection of all pools of a replica to the shared state. */
export interface SharedPools extends SharedLeases {
  /** A name of this process that no other process has. */
  readonly replica: string;
  /** False: the shared state is unreachable, and each replica uses its share of the limits. */
  readonly isReachable: () => boolean;
  /** The number of replicas, as last known. */
  readonly replicas: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Calls `pool.tick` at an interval until it returns false. */
  readonly schedule: (pool: LeasedPool) => void;
}

export interface LeasedPoolOptions
  extends Pick<LeaseRequest, "pool" | "limit" | "unit" | "refills" | "isSemaphore"> {
  readonly retentionMs: number;
  /** In parts. */
  readonly unspent?: number;
  /** Semaphores: the requests that wait for a slot. */
  readonly waiting?: () => number;
  readonly onReply?: () => void;
}

const leaseMs = 5000;
/** A lease ends earlier here than in the shared state, so that no item is used by two replicas. */
const usableMs = 4500;
const renewBeforeMs = 2500;
/** Backoff after a refusal. */
const refusalMs = 50;
/** An older estimate of a pool that this replica does not use is refreshed. */
const estimateMs = 500;

export class LeasedPool {
  readonly #shared: SharedPools;
  readonly #options: LeasedPoolOptions;
  readonly #estimate: PoolEstimate;
  #granted = 0;
  #spent = 0;
  /** Items that requests in flight will probably spend. */
  #reserved = 0;
  /** Items that are given back with the next lease request. */
  #returned = 0;
  #acknowledged = 0;
  /** The `spent` of the last lease request. */
  #reported = 0;
  /** Starts at the clock's time, so that a later object for the same pool has higher numbers. */
  #sequence: number;
  readonly #holder: string;
  #epoch = "";
  #expiresAt = Number.NEGATIVE_INFINITY;
  /** Items that requests need from the next lease request. */
  #needed = 0;
  #least = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #refusedUntil = Number.NEGATIVE_INFINITY;
  #refusedCount = 0;
  #isScheduled = false;
  /** Items spent since the last tick, and in the interval before it. Semaphores: the most in use. */
  #recent = 0;
  #recentBefore = 0;

  constructor(shared: SharedPools, options: LeasedPoolOptions) {
    this.#shared = shared;
    this.#options = options;
    const unspent = options.unspent ?? options.limit * options.unit;
    this.#estimate = new PoolEstimate(options, unspent, shared.clock());
    this.#sequence = Math.floor(shared.clock() * 1000);
    this.#holder = `${shared.replica}:${this.#sequence}`;
  }

  get isReachable(): boolean {
    return this.#shared.isReachable();
  }

  /** The number of replicas that share the limit while the pool is unreachable. */
  get replicas(): number {
    return Math.max(1, this.#shared.replicas());
  }

  get name(): string {
    return this.#options.pool;
  }

  get limit(): number {
    return this.#estimate.limit;
  }

  /** Items that can be spent now. Negative: more was spent or reserved than was leased. */
  held(now: number): number {
    if (now >= this.#expiresAt && this.#granted > this.#spent) {
      this.#granted = this.#spent;
      this.#returned = 0;
    }
    return this.#granted - this.#spent - this.#reserved - this.#returned;
  }

  /** Running total. */
  get spent(): number {
    return this.#spent;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Reserves leased items until `release`. */
  reserve(count: number): void {
    this.#reserved += count;
    this.#schedule();
  }

  release(count: number): void {
    this.#reserved -= count;
  }

  /** Unspent items of the whole pool, as far as this replica knows. In parts. */
  unspent(now: number): number {
    return this.#estimate.unspent(now, this.#unreported);
  }

  /** In parts. */
  available(now: number): number {
    return this.#estimate.available(now);
  }

  /** May spend more than is held. */
  spend(count: number, now: number): void {
    this.#spent += count;
    this.#recent = this.#options.isSemaphore
      ? Math.max(this.#recent, this.#spent)
      : this.#recent + count;
    this.#schedule();
    if (this.held(now) < Math.floor(this.#expected / 2)) this.#refill(now);
  }

  refund(count: number): void {
    this.#spent -= count;
    this.#schedule();
    if (this.#options.isSemaphore) {
      if (this.#estimate.othersWait && this.isReachable) this.#return(count);
    } else if (this.#granted - this.#spent > this.limit) this.#spent = this.#granted - this.limit;
  }

  /** Semaphores: another replica waits for slots, or slots are free. */
  notice(now: number): void {
    this.#estimate.othersWait = true;
    const waiting = this.#waiting;
    const idle = this.held(now) - waiting;
    if (this.isReachable && (idle > 0 || waiting > 0)) this.#return(Math.max(0, idle));
  }

  /** Asks for the state of the pool, if the last reply is older than `maxAgeMs`. */
  async refreshEstimate(now: number, maxAgeMs = estimateMs): Promise<void> {
    if (!this.isReachable || now - this.#estimate.repliedAt < maxAgeMs) return;
    await this.#requestLease();
  }

  /** Whether fewer than `count` items are held, and more may be leased now. */
  canLease(count: number, now: number): boolean {
    if (count <= this.held(now) || !this.isReachable) return false;
    return now >= this.#refusedUntil || count < this.#refusedCount;
  }

  /** Leases `count` items, or at least `least`, if it can. Resolves when the reply has arrived. */
  async lease(count: number, now: number, least = count): Promise<void> {
    if (!this.canLease(least, now)) return;
    this.#needed += count;
    this.#least = Math.min(this.#least, least);
    await this.#requestLease();
  }

  resize(limit: number, now: number): void {
    this.#estimate.resize(limit, now, this.#unreported);
    if (!this.#options.isSemaphore) {
      this.#granted = Math.min(this.#granted, this.#spent);
      this.#returned = 0;
    }
    this.#schedule();
  }

  /** Corrects the remainder of the pool from another source, such as the ledger. In parts. */
  correct(unspent: number): void {
    this.#estimate.lower(unspent, this.#unreported);
    this.#epoch = "";
    this.#schedule();
  }

  /** Reports spent items, renews the lease, and gives back unused items. False: there is nothing to do. */
  tick(now: number): boolean {
    const used = Math.max(this.#recent, this.#recentBefore);
    this.#recentBefore = this.#recent;
    this.#recent = this.#options.isSemaphore ? this.#spent : 0;
    const held = this.held(now);
    const isIdle = used === 0 && this.#granted === this.#spent && this.#unreported === 0;
    if (
      isIdle &&
      this.#reserved === 0 &&
      this.#waiting === 0 &&
      this.#epoch !== "" &&
      !(this.#options.isSemaphore && this.#granted > 0)
    ) {
      this.#isScheduled = false;
      return false;
    }
    const surplus = this.#surplus(held, used);
    const mustRenew = this.#granted !== this.#spent && now > this.#expiresAt - renewBeforeMs;
    const mustKeep = this.#options.isSemaphore && now > this.#expiresAt - renewBeforeMs;
    if (!this.isReachable || this.#running) return true;
    const isReported = this.#unreported === 0 && this.#spent === this.#reported;
    if (surplus > 0 || !isReported || mustRenew || mustKeep || this.#epoch === "") {
      this.#return(surplus);
    }
    return true;
  }

  /** At shutdown: reports spent items, and gives back all others. */
  async giveBack(): Promise<void> {
    await this.#running;
    if (!this.isReachable) return;
    this.#granted = Math.min(this.#granted, this.#spent);
    this.#returned = 0;
    this.#recent = 0;
    this.#recentBefore = 0;
    await this.#requestLease();
  }

  #surplus(held: number, used: number): number {
    if (!this.#options.isSemaphore) return Math.max(0, held - used * 2);
    const kept = this.#estimate.othersWait ? 0 : Math.min(used, this.limit) - this.#spent;
    return Math.max(0, held - Math.max(0, kept));
  }

  get #waiting(): number {
    return this.#options.waiting?.() ?? 0;
  }

  #return(count: number): void {
    this.#returned += count;
    void this.#requestLease();
  }

  get #unreported(): number {
    return this.#options.isSemaphore ? 0 : this.#spent - this.#acknowledged;
  }

  /** The items that the requests of about a second need. */
  get #expected(): number {
    return this.#options.isSemaphore ? 0 : this.#recent + this.#recentBefore;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#shared.schedule(this);
  }

  #refill(now: number): void {
    if (this.#running || this.#next || !this.isReachable || now < this.#refusedUntil) return;
    void this.#requestLease();
  }

  /** One lease request at a time: all needs that arise while one is running share the next one. */
  #requestLease(): Promise<void> {
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#running = this.#sendLeaseRequest();
      return this.#running;
    });
    return this.#next;
  }

  /** Never rejects: without a reply, nothing was leased. */
  async #sendLeaseRequest(): Promise<void> {
    const sentAt = this.#shared.clock();
    const held = Math.max(this.held(sentAt), -this.#reserved);
    this.#granted -= Math.min(this.#returned, Math.max(0, this.#granted - this.#spent));
    this.#returned = 0;
    if (this.#options.waiting) {
      this.#needed = Math.min(this.#waiting, this.limit);
      this.#least = 1;
    }
    const needed = Math.max(0, this.#needed - held);
    const leastHeld = Math.min(this.#least, this.#needed);
    const least = leastHeld === 0 ? 1 : Math.max(1, Math.min(needed, leastHeld - held));
    const spent = this.#spent;
    this.#reported = spent;
    this.#needed = 0;
    this.#least = Number.POSITIVE_INFINITY;
    const { pool, unit, refills, isSemaphore, retentionMs, onReply } = this.#options;
    try {
      const reply = await this.#shared.lease({
        pool,
        unit,
        refills,
        isSemaphore,
        leaseMs,
        retentionMs,
        needed,
        least,
        spent,
        holder: this.#holder,
        limit: this.limit,
        sequence: ++this.#sequence,
        granted: this.#granted,
        acknowledged: isSemaphore ? 0 : this.#acknowledged,
        // If more was spent than leased, for example during an outage, nothing is leased in advance: other replicas may
        // still have to report such spending, too.
        wanted: spent > this.#granted ? 0 : Math.max(0, this.#expected - Math.max(0, held)),
        epoch: this.#epoch,
        unspent: this.#estimate.unspent(sentAt),
      });
      this.#accept(reply, spent, sentAt);
      const isRefused = needed > 0 && reply.granted - spent - this.#reserved < leastHeld;
      const waitMs = refills ? (least * unit - reply.available) / this.limit : refusalMs;
      this.#refusedUntil = isRefused
        ? sentAt + Math.min(refusalMs, Math.max(0, waitMs))
        : Number.NEGATIVE_INFINITY;
      this.#refusedCount = leastHeld;
    } catch {
      // The connection has reported the error. Items that were granted without a reply are given back with the next
      // request.
      this.#refusedUntil = sentAt + refusalMs;
      this.#refusedCount = leastHeld;
    } finally {
      this.#running = undefined;
    }
    onReply?.();
  }

  #accept(reply: LeaseReply, spent: number, sentAt: number): void {
    this.#granted = reply.granted;
    this.#acknowledged = spent;
    this.#epoch = reply.epoch;
    this.#estimate.accept(reply, sentAt);
    this.#expiresAt = sentAt + usableMs;
    this.#schedule();
  }
}
