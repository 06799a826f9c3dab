/**
 * Fair queueing for concurrency slots: API keys take turns, however many requests each of them has queued, and a large
 * request costs more turns than a small one (virtual time). A request takes all of its slots at once or none, so it never
 * holds one slot while it waits for another.
 */
import type { ConcurrencySlots } from "./concurrency-slots.ts";

export interface Waiter {
  /** Keys take turns; requests of one key share its turns. */
  readonly key: string;
  readonly neededSlots: readonly ConcurrencySlots[];
  /** The turns that it costs. */
  readonly cost: number;
  /** When its wait times out. */
  readonly deadline: number;
  /** Work was already done for it: it is neither shed nor timed out. */
  hasStarted(): boolean;
  /** It holds its slots. */
  admit(now: number): void;
  reject(why: "timeout" | "shed" | "full"): void;
}

interface Entry {
  readonly waiter: Waiter;
  readonly turn: KeyTurns;
  /** The lane of its key: one per set of slots. */
  readonly lane: string;
  readonly number: number;
  /** Slots that went to another request while this one lacked a different slot. */
  readonly lost: Set<ConcurrencySlots>;
  losses: number;
}

/** The turns of one API key. */
interface KeyTurns {
  readonly key: string;
  /** FIFO per set of slots; a blocked request does not block other lanes. */
  readonly lanes: Map<string, Set<Entry>>;
  /** The lowest virtual time is next. */
  virtualTime: number;
}

/** Losses after which one slot of each kind is kept for the request (starvation guard): otherwise it might never find all of them free together. */
const maxLosses = 16;
/** The unused turns that a key may catch up on. */
const maxCredit = 4;

export class FairQueue {
  readonly #max: number;
  readonly #entries = new Map<Waiter, Entry>();
  readonly #turns = new Map<string, KeyTurns>();
  readonly #gateNumbers = new WeakMap<ConcurrencySlots, number>();
  #gates = 0;
  #count = 0;
  #virtualTime = 0;

  /** `max`: the limit of queued requests. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes the slots at once if all are free and no request is queued for any of them. */
  tryEnter(gates: readonly ConcurrencySlots[]): boolean {
    for (const gate of gates) if (!gate.hasFreeSlot || gate.waiting > 0) return false;
    for (const gate of gates) gate.acquire();
    return true;
  }

  /** False: the queue is full. */
  wait(waiter: Waiter, now: number): boolean {
    this.#add(waiter);
    this.admitWaiting(now);
    if (this.size <= this.#max || !this.#entries.has(waiter)) return true;
    // One key must not fill the queue for all: the key with the most queued requests loses its newest.
    const latest = this.#newestOfLargestKey() ?? waiter;
    this.#remove(latest);
    if (latest === waiter) return false;
    latest.reject("full");
    return true;
  }

  /** The request leaves the queue by itself. */
  cancel(waiter: Waiter, now: number): void {
    if (this.#remove(waiter)) this.admitWaiting(now);
  }

  /** Admits every request that can enter. Must be called whenever a slot becomes free. */
  admitWaiting(now: number): void {
    for (let entry = this.#next(); entry; entry = this.#next()) {
      const { waiter, turn } = entry;
      this.#countLosses(entry);
      this.#remove(waiter);
      const at = Math.max(turn.virtualTime, this.#virtualTime - maxCredit);
      turn.virtualTime = at + waiter.cost;
      this.#virtualTime = Math.max(this.#virtualTime, at);
      for (const gate of waiter.neededSlots) gate.acquire();
      waiter.admit(now);
    }
    if (this.size === 0) {
      this.#turns.clear();
      this.#virtualTime = 0;
    }
  }

  /** Rejects requests whose wait has timed out. */
  expire(now: number): void {
    for (const waiter of [...this.#entries.keys()]) {
      for (const gate of waiter.neededSlots) gate.refresh(now);
      if (waiter.deadline > now || waiter.hasStarted()) continue;
      this.#remove(waiter);
      waiter.reject("timeout");
    }
    this.admitWaiting(now);
  }

  /** Sheds the newest request of the key with the most queued requests. False: every queued request has started, or the key is protected. */
  shed(now: number, mayLose: (key: string) => boolean = () => true): boolean {
    const latest = this.#newestOfLargestKey();
    if (!latest || !mayLose(latest.key)) return false;
    this.#remove(latest);
    latest.reject("shed");
    this.admitWaiting(now);
    return true;
  }

  #newestOfLargestKey(): Waiter | undefined {
    const fresh = new Map<string, Entry[]>();
    for (const entry of this.#entries.values()) {
      if (entry.waiter.hasStarted()) continue;
      const others = fresh.get(entry.waiter.key);
      if (others) others.push(entry);
      else fresh.set(entry.waiter.key, [entry]);
    }
    let most: Entry[] = [];
    for (const entries of fresh.values()) if (entries.length > most.length) most = entries;
    return most.at(-1)?.waiter;
  }

  #add(waiter: Waiter): void {
    const { key, neededSlots: gates } = waiter;
    const turn = this.#turnsOf(key);
    const lane = gates.map((gate) => this.#numberOf(gate)).join(" ");
    const number = this.#count++;
    const entry: Entry = { waiter, turn, lane, number, lost: new Set(), losses: 0 };
    const others = turn.lanes.get(lane);
    if (others) others.add(entry);
    else turn.lanes.set(lane, new Set([entry]));
    this.#entries.set(waiter, entry);
    for (const gate of gates) gate.waiting++;
  }

  #turnsOf(key: string): KeyTurns {
    const known = this.#turns.get(key);
    if (known) {
      if (known.lanes.size === 0)
        known.virtualTime = Math.max(known.virtualTime, this.#virtualTime);
      return known;
    }
    // Idle keys keep their virtual time while they are few.
    if (this.#turns.size > 2 * this.#max + 16) {
      for (const [idle, { lanes }] of this.#turns) if (lanes.size === 0) this.#turns.delete(idle);
    }
    const turn: KeyTurns = { key, lanes: new Map(), virtualTime: this.#virtualTime };
    this.#turns.set(key, turn);
    return turn;
  }

  #remove(waiter: Waiter): boolean {
    const entry = this.#entries.get(waiter);
    if (!entry) return false;
    const { turn, lane } = entry;
    const others = turn.lanes.get(lane);
    this.#entries.delete(waiter);
    others?.delete(entry);
    if (others?.size === 0) turn.lanes.delete(lane);
    for (const gate of waiter.neededSlots) gate.waiting--;
    return true;
  }

  /** The head of each lane. */
  #heads(): Entry[] {
    const heads: Entry[] = [];
    for (const { lanes } of this.#turns.values()) {
      for (const lane of lanes.values()) {
        const { value } = lane.values().next();
        if (value) heads.push(value);
      }
    }
    return heads;
  }

  #next(): Entry | undefined {
    if (this.size === 0) return undefined;
    const heads = this.#heads();
    let unlucky: Entry | undefined;
    for (const entry of heads) {
      if (isStarved(entry) && (!unlucky || entry.number < unlucky.number)) unlucky = entry;
    }
    if (unlucky && canEnter(unlucky, [])) return unlucky;
    const kept = unlucky?.waiter.neededSlots ?? [];
    let best: Entry | undefined;
    for (const entry of heads) {
      if ((!best || isBefore(entry, best)) && canEnter(entry, kept)) best = entry;
    }
    return best;
  }

  #countLosses({ waiter: { neededSlots: gates } }: Entry): void {
    for (const entry of this.#heads()) {
      const own = entry.waiter.neededSlots;
      if (own.every(({ hasFreeSlot }) => hasFreeSlot)) continue;
      for (const gate of own) {
        if (!gate.hasFreeSlot || !gates.includes(gate)) continue;
        entry.lost.add(gate);
        entry.losses++;
      }
    }
  }

  #numberOf(gate: ConcurrencySlots): number {
    const known = this.#gateNumbers.get(gate) ?? this.#gates++;
    this.#gateNumbers.set(gate, known);
    return known;
  }
}

/** Only if other requests took the slots that it lacks: a request blocked by its own key's limit has no claim on shared slots. */
const isStarved = ({ waiter, lost, losses }: Entry): boolean =>
  losses >= maxLosses && waiter.neededSlots.every((gate) => gate.hasFreeSlot || lost.has(gate));

/** One slot is kept free in each of `kept`. */
const canEnter = ({ waiter }: Entry, kept: readonly ConcurrencySlots[]): boolean =>
  waiter.neededSlots.every((gate) => gate.inFlight + (kept.includes(gate) ? 1 : 0) < gate.limit);

const isBefore = (a: Entry, b: Entry): boolean =>
  a.turn.virtualTime < b.turn.virtualTime ||
  (a.turn.virtualTime === b.turn.virtualTime && a.number < b.number);
