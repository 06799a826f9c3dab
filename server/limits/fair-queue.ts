/**
 * Fair queueing for concurrency slots: API keys take turns, however many requests each has queued, and a large request
 * costs more turns than a small one (virtual time). Interactive requests go before batch requests, with a starvation
 * guard. A request takes all of its slots at once or none, so it never holds one slot while it waits for another.
 */
import type { Priority } from "../request/http-types.ts";
import type { ConcurrencySlots } from "./concurrency-slots.ts";

export interface Waiter {
  /** Keys take turns; requests of one key share its turns. */
  readonly key: string;
  readonly priority: Priority;
  /** The semaphores of which the request needs one slot each. */
  readonly neededSlots: readonly ConcurrencySlots[];
  /** The number of turns that the request takes. */
  readonly cost: number;
  /** Whether work was already done for the request: then it is neither shed nor timed out. */
  hasStarted(): boolean;
  /** Called when the request holds all of its slots. */
  admit(now: number): void;
  reject(reason: "timeout" | "shed" | "full"): void;
}

interface QueuedWaiter {
  readonly waiter: Waiter;
  readonly turns: KeyTurns;
  /** The lane of the request: each key has one lane per set of slots. */
  readonly lane: string;
  readonly number: number;
  /**
   * The semaphores of which a free slot went to another request, because this request lacked a slot of a different one.
   */
  readonly missedSlots: Set<ConcurrencySlots>;
  /** How often a free slot went to another request for that reason. */
  missedCount: number;
  /** Batch requests: how many interactive requests took a slot that this request could have taken. */
  overtakenCount: number;
}

/** The turns of one API key in one priority class. */
interface KeyTurns {
  /** FIFO per set of slots; a blocked request does not block other lanes. */
  readonly lanes: Map<string, Set<QueuedWaiter>>;
  /** The key with the lowest virtual time is next. */
  virtualTime: number;
}

/**
 * After a request has missed a free slot this many times, one slot of each kind is kept for it (starvation guard):
 * otherwise it might never find all of its slots free at the same time.
 */
const maxMissedCount = 16;
/**
 * After this many interactive requests have overtaken a batch request, the batch request goes first (starvation guard).
 */
const maxOvertakenCount = 16;
/** The most unused turns that a key may catch up on. */
const maxCredit = 4;

/** The requests of one priority class. */
class PriorityClass {
  readonly turns = new Map<string, KeyTurns>();
  virtualTime = 0;

  clear(): void {
    this.turns.clear();
    this.virtualTime = 0;
  }
}

export class FairQueue {
  readonly #max: number;
  readonly #entries = new Map<Waiter, QueuedWaiter>();
  readonly #classes: Readonly<Record<Priority, PriorityClass>> = {
    interactive: new PriorityClass(),
    batch: new PriorityClass(),
  };
  readonly #slotsNumbers = new WeakMap<ConcurrencySlots, number>();
  /** Shared slots of which queued requests could use some. */
  readonly #usable = new Set<ConcurrencySlots>();
  #hasSharedSlots = false;
  #slotsCount = 0;
  #count = 0;

  /** `max`: the limit of queued requests. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes the slots at once if all are free and no request is queued for any of them. */
  tryEnter(neededSlots: readonly ConcurrencySlots[]): boolean {
    for (const slots of neededSlots) if (!slots.hasFreeSlot || slots.waiting > 0) return false;
    for (const slots of neededSlots) slots.acquire();
    return true;
  }

  /** False: the queue is full. */
  wait(waiter: Waiter, now: number): boolean {
    this.#add(waiter);
    this.admitWaiting(now);
    if (this.size <= this.#max || !this.#entries.has(waiter)) return true;
    // One key must not fill the queue for all: the key with the most queued requests loses its newest, and batch
    // requests are rejected before interactive ones.
    const newest =
      this.#newestOfLargestKey("batch") ?? this.#newestOfLargestKey("interactive") ?? waiter;
    this.#remove(newest);
    if (newest === waiter) return false;
    newest.reject("full");
    return true;
  }

  /** The request leaves the queue by itself. */
  cancel(waiter: Waiter, now: number): void {
    if (this.#remove(waiter)) this.admitWaiting(now);
  }

  /** Admits every request that can enter. Must be called whenever a slot becomes free. */
  admitWaiting(now: number): void {
    for (let entry = this.#next(); entry; entry = this.#next()) {
      const { waiter, turns } = entry;
      const priorityClass = this.#classes[waiter.priority];
      this.#countMissedSlots(entry);
      this.#countOvertaken(entry);
      this.#remove(waiter);
      const at = Math.max(turns.virtualTime, priorityClass.virtualTime - maxCredit);
      turns.virtualTime = at + waiter.cost;
      priorityClass.virtualTime = Math.max(priorityClass.virtualTime, at);
      for (const slots of waiter.neededSlots) slots.acquire();
      waiter.admit(now);
    }
    if (this.#hasSharedSlots) {
      this.#countUsable();
      refreshSlots([...this.#usable], now);
    }
    if (this.size === 0)
      for (const priorityClass of Object.values(this.#classes)) priorityClass.clear();
  }

  /** The queue timeout of the request is over. A request that has started stays in the queue. */
  timeOut(waiter: Waiter, now: number): void {
    if (waiter.hasStarted() || !this.#remove(waiter)) return;
    waiter.reject("timeout");
    this.admitWaiting(now);
  }

  /**
   * Applies the limits that change with time, and admits requests. Returns the milliseconds until one of these limits
   * may change again.
   */
  refresh(now: number): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { neededSlots } of this.#entries.keys()) {
      earliestMs = Math.min(earliestMs, refreshSlots(neededSlots, now));
    }
    this.admitWaiting(now);
    return earliestMs;
  }

  /**
   * Sheds the newest request of the key with the most queued requests: a batch request, or else an interactive request
   * if `mayShed` allows it for that key. False: every queued request has started, or `mayShed` does not allow it.
   */
  shed(now: number, mayShed: (key: string) => boolean = () => true): boolean {
    const batch = this.#newestOfLargestKey("batch");
    const newest = batch ?? this.#newestOfLargestKey("interactive");
    if (!newest || (newest !== batch && !mayShed(newest.key))) return false;
    this.#remove(newest);
    newest.reject("shed");
    this.admitWaiting(now);
    return true;
  }

  /**
   * Shared slots: how many queued requests could use a slot. A request leases its slots in their order, so it could use
   * a slot if it lacks none of those before it. Without an order, two replicas would each hold the slot that the other
   * one lacks.
   */
  #countUsable(): void {
    for (const slots of this.#usable) slots.usable = 0;
    this.#usable.clear();
    for (const { turns } of Object.values(this.#classes)) {
      for (const { lanes } of turns.values()) {
        for (const lane of lanes.values()) {
          const { value: head } = lane.values().next();
          if (head) this.#countUsableBy(head.waiter.neededSlots, lane.size);
        }
      }
    }
  }

  /** `count`: the requests that need these slots. */
  #countUsableBy(neededSlots: readonly ConcurrencySlots[], count: number): void {
    let able = count;
    for (const slots of neededSlots) {
      if (!slots.isShared) continue;
      const left = slots.limit - slots.inFlight - slots.usable;
      slots.usable += able;
      this.#usable.add(slots);
      able = Math.min(able, Math.max(0, left));
      if (able === 0) return;
    }
  }

  #newestOfLargestKey(priority: Priority): Waiter | undefined {
    const notStarted = new Map<string, QueuedWaiter[]>();
    for (const entry of this.#entries.values()) {
      if (entry.waiter.priority !== priority || entry.waiter.hasStarted()) continue;
      const others = notStarted.get(entry.waiter.key);
      if (others) others.push(entry);
      else notStarted.set(entry.waiter.key, [entry]);
    }
    let most: QueuedWaiter[] = [];
    for (const entries of notStarted.values()) if (entries.length > most.length) most = entries;
    return most.at(-1)?.waiter;
  }

  #add(waiter: Waiter): void {
    const { key, priority, neededSlots } = waiter;
    const turns = this.#turnsOf(key, this.#classes[priority]);
    const lane = neededSlots.map((slots) => this.#numberOf(slots)).join(" ");
    const number = this.#count++;
    const entry: QueuedWaiter = {
      waiter,
      turns,
      lane,
      number,
      missedSlots: new Set(),
      missedCount: 0,
      overtakenCount: 0,
    };
    const others = turns.lanes.get(lane);
    if (others) others.add(entry);
    else turns.lanes.set(lane, new Set([entry]));
    this.#entries.set(waiter, entry);
    for (const slots of neededSlots) {
      slots.waiting++;
      if (slots.isShared) this.#hasSharedSlots = true;
    }
  }

  #turnsOf(key: string, { turns, virtualTime }: PriorityClass): KeyTurns {
    const existing = turns.get(key);
    if (existing) {
      if (existing.lanes.size === 0)
        existing.virtualTime = Math.max(existing.virtualTime, virtualTime);
      return existing;
    }
    // Idle keys keep their virtual time while they are few.
    if (turns.size > 2 * this.#max + 16) {
      for (const [idle, { lanes }] of turns) if (lanes.size === 0) turns.delete(idle);
    }
    const added: KeyTurns = { lanes: new Map(), virtualTime };
    turns.set(key, added);
    return added;
  }

  #remove(waiter: Waiter): boolean {
    const entry = this.#entries.get(waiter);
    if (!entry) return false;
    const { turns, lane } = entry;
    const others = turns.lanes.get(lane);
    this.#entries.delete(waiter);
    others?.delete(entry);
    if (others?.size === 0) turns.lanes.delete(lane);
    for (const slots of waiter.neededSlots) slots.waiting--;
    return true;
  }

  /** The head of each lane. */
  #heads(): QueuedWaiter[] {
    return [...this.#headsOf("interactive"), ...this.#headsOf("batch")];
  }

  #headsOf(priority: Priority): QueuedWaiter[] {
    const heads: QueuedWaiter[] = [];
    for (const { lanes } of this.#classes[priority].turns.values()) {
      for (const lane of lanes.values()) {
        const { value } = lane.values().next();
        if (value) heads.push(value);
      }
    }
    return heads;
  }

  #next(): QueuedWaiter | undefined {
    if (this.size === 0) return undefined;
    const heads = this.#heads();
    let starved: QueuedWaiter | undefined;
    for (const entry of heads) {
      if (isStarved(entry) && (!starved || entry.number < starved.number)) starved = entry;
    }
    if (starved && canEnter(starved, [])) return starved;
    const reservedSlots = starved?.waiter.neededSlots ?? [];
    let best: QueuedWaiter | undefined;
    for (const entry of heads) {
      if ((!best || isBefore(entry, best)) && canEnter(entry, reservedSlots)) best = entry;
    }
    return best;
  }

  /**
   * An admitted interactive request overtakes the batch requests that need one of its slots. An admitted batch request
   * resets the counts of those batch requests.
   */
  #countOvertaken({ waiter: { priority, neededSlots } }: QueuedWaiter): void {
    for (const entry of this.#headsOf("batch")) {
      if (!entry.waiter.neededSlots.some((slots) => neededSlots.includes(slots))) continue;
      if (priority === "batch") entry.overtakenCount = 0;
      else if (canEnter(entry, [])) entry.overtakenCount++;
    }
  }

  #countMissedSlots({ waiter: { neededSlots } }: QueuedWaiter): void {
    for (const entry of this.#heads()) {
      const own = entry.waiter.neededSlots;
      if (own.every(({ hasFreeSlot }) => hasFreeSlot)) continue;
      for (const slots of own) {
        if (!slots.hasFreeSlot || !neededSlots.includes(slots)) continue;
        entry.missedSlots.add(slots);
        entry.missedCount++;
      }
    }
  }

  #numberOf(slots: ConcurrencySlots): number {
    const existing = this.#slotsNumbers.get(slots) ?? this.#slotsCount++;
    this.#slotsNumbers.set(slots, existing);
    return existing;
  }
}

/** Milliseconds until the first of these limits may change. */
export function refreshSlots(neededSlots: readonly ConcurrencySlots[], now: number): number {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const slots of neededSlots) earliestMs = Math.min(earliestMs, slots.refresh(now));
  return earliestMs;
}

/**
 * A request is starved only if the slots that it lacks went to other requests. For a request that waits for the limit
 * of its own key, no shared slots are reserved.
 */
const isStarved = ({ waiter, missedSlots, missedCount }: QueuedWaiter): boolean =>
  missedCount >= maxMissedCount &&
  waiter.neededSlots.every((slots) => slots.hasFreeSlot || missedSlots.has(slots));

/** Whether the request can take its slots while one slot stays free in each of `reservedSlots`. */
const canEnter = ({ waiter }: QueuedWaiter, reservedSlots: readonly ConcurrencySlots[]): boolean =>
  waiter.neededSlots.every(
    (slots) => slots.inFlight + (reservedSlots.includes(slots) ? 1 : 0) < slots.limit,
  );

/** Batch requests that were overtaken too often, then interactive requests, then batch requests. */
function rankOf({ waiter, overtakenCount }: QueuedWaiter): number {
  if (waiter.priority === "interactive") return 1;
  return overtakenCount >= maxOvertakenCount ? 0 : 2;
}

function isBefore(a: QueuedWaiter, b: QueuedWaiter): boolean {
  const ranks = rankOf(a) - rankOf(b);
  if (ranks !== 0) return ranks < 0;
  const { virtualTime } = b.turns;
  if (a.turns.virtualTime !== virtualTime) return a.turns.virtualTime < virtualTime;
  return a.number < b.number;
}
