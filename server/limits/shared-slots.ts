/**
 * Concurrency slots that replicas share, as one replica knows them: the state of the last reply. Redis decides. While it
 * is unreachable, each replica applies its share of the limit, at least 1: limits do not fail open. When it is reachable
 * again, the slots in use are entered with the next renewal.
 */
import type { SlotDemand, SlotEntry, SlotState } from "../storage/redis/shared-limits.ts";
import { type ConcurrencySlots, MeanHeldTime, type SlotLease } from "./concurrency-slots.ts";

/** What the slots need of `SharedLimiter`. */
export interface SharedSlotCalls {
  /** False: each replica applies its share. */
  readonly isReachable: boolean;
  readonly replicas: number;
  clock(): number;
  random(): number;
  releaseSlot(slot: SlotEntry, isScarce: boolean): void;
  renewInUse(slots: SharedSlots): void;
  read(scopes: readonly [], slots: SharedSlots): Promise<void>;
}

/** Slots with a limit that replicas share. */
export const isSharedLimit = (slots: ConcurrencySlots): slots is SharedSlots =>
  slots instanceof SharedSlots && slots.isLimited;

/** A request that finds no slot looks again after a random time between these. */
const [minLookMs, maxLookMs] = [50, 100];
/**
 * A replica may pass its slots on to its own requests for this time, although another replica waits longer. With a
 * longer time, ten replicas at a limit of 1 would wait for more than two seconds; with a shorter one, more of the
 * slot's time would pass between a release and the next look.
 */
const turnMs = 75;
/** An older state of slots that no request asks for is read again. */
const staleMs = 500;

/**
 * Slots that replicas share. Each slot in use is an entry in Redis, which knows how many are free; this replica knows
 * it as of the last reply.
 */
export class SharedSlots implements ConcurrencySlots {
  readonly name: string;
  waiting = 0;
  readonly #limiter: SharedSlotCalls;
  readonly #leases = new Set<SlotLease>();
  readonly #heldTime = new MeanHeldTime();
  #limit = Number.POSITIVE_INFINITY;
  #totalInFlight = 0;
  /** Free as of the last reply, without those that requests have asked for since then. */
  #free = 0;
  /** Calls without a reply. */
  #asking = 0;
  #repliedAt = Number.NEGATIVE_INFINITY;
  /** Without a free slot, a queued request asks for one at this time. */
  #lookAt = Number.NEGATIVE_INFINITY;
  /** Since when this replica waits for its turn. A turn begins with a slot. */
  #waitingSince = 0;
  #turnEndsAt: number | undefined;

  constructor(limiter: SharedSlotCalls, name: string) {
    this.#limiter = limiter;
    this.name = name;
  }

  /** The limit of all replicas. */
  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    const before = this.isLimited ? this.#limit : this.inFlight;
    this.#limit = limit;
    this.#free = this.isLimited ? Math.max(0, this.#free + limit - before) : 0;
  }

  get isLimited(): boolean {
    return this.#limit !== Number.POSITIVE_INFINITY;
  }

  get inFlight(): number {
    return this.#leases.size;
  }

  get totalInFlight(): number {
    return this.#limiter.isReachable ? this.#totalInFlight : this.inFlight;
  }

  get mayTake(): boolean {
    if (!this.isLimited) return true;
    if (!this.#limiter.isReachable) return this.inFlight < this.#share;
    // The first request asks with the call for its rate limits.
    if (this.#free > 0 || this.waiting === 0) return true;
    return this.#asking === 0 && this.#limiter.clock() >= this.#lookAt;
  }

  get expectedWaitMs(): number | undefined {
    const slots = this.#limiter.isReachable ? this.inFlight + this.#free : this.#share;
    return this.#heldTime.waitMs(this.waiting, slots);
  }

  /** The slots of this replica while the shared limits are unreachable. */
  get #share(): number {
    return Math.max(1, Math.floor(this.#limit / this.#limiter.replicas));
  }

  isExhausted(): boolean {
    if (!this.isLimited || !this.#limiter.isReachable) return !this.mayTake;
    if (this.#free > 0) return false;
    if (this.#limiter.clock() - this.#repliedAt > staleMs) void this.#limiter.read([], this);
    return true;
  }

  refresh(now: number): number {
    if (!this.isLimited) return Number.POSITIVE_INFINITY;
    return this.#lookAt > now ? this.#lookAt - now : minLookMs;
  }

  acquire(lease: SlotLease): void {
    this.#leases.add(lease);
    this.#free = Math.max(0, this.#free - 1);
    if (this.isLimited) this.#limiter.renewInUse(this);
  }

  release(lease: SlotLease, heldMs: number | undefined): void {
    this.#leases.delete(lease);
    if (heldMs !== undefined) this.#heldTime.add(heldMs);
    if (!this.isLimited || !lease.isGranted) return;
    const isScarce = this.#free === 0;
    this.#free++;
    this.#limiter.releaseSlot({ name: this.name, id: lease.id }, isScarce);
  }

  /** A slot was acquired here, and is now requested from the other replicas. */
  demand(now: number): SlotDemand {
    const isOver = this.#turnEndsAt === undefined ? this.waiting === 0 : now >= this.#turnEndsAt;
    if (isOver) {
      this.#waitingSince = now;
      this.#turnEndsAt = undefined;
    }
    this.#asking++;
    const waitedMs = Math.floor(now - this.#waitingSince);
    return { name: this.name, limit: this.#limit, waitedMs };
  }

  /** The reply to `demand`. */
  accept(state: SlotState, isGranted: boolean, now: number): void {
    this.#asking--;
    this.read(state, now);
    if (isGranted) this.#turnEndsAt ??= now + turnMs;
    if (this.#free === 0)
      this.#lookAt = now + minLookMs + this.#limiter.random() * (maxLookMs - minLookMs);
  }

  /** There was no reply to `demand`. */
  fail(): void {
    this.#asking--;
  }

  /** The state of all replicas. */
  read({ inFlight, available }: SlotState, now: number): void {
    this.#totalInFlight = inFlight;
    this.#free = Math.max(0, available - this.#asking);
    this.#repliedAt = now;
  }

  /** The entries of the slots in use, also of those that were acquired while the shared limits were unreachable. */
  entries(): SlotEntry[] {
    const granted = [...this.#leases].filter(({ isGranted }) => isGranted);
    return granted.map(({ id }) => ({ name: this.name, id }));
  }
}
