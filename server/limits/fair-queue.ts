/**
 * Those who wait for gates. Keys take turns, however many calls each of them has waiting, and a large call uses up more of its key's
 * turns than a small one. A call goes in through all of its gates at once or not at all, so nobody waits inside of one for another.
 */
import type { ConcurrencySlots } from "./concurrency-gate.ts";

export interface Waiter {
  /** Calls of the same take turns among themselves. */
  readonly key: string;
  readonly gates: readonly ConcurrencySlots[];
  /** Turns that it uses up. */
  readonly cost: number;
  /** When it gives up. */
  readonly deadline: number;
  /** Work was done for it already: it is neither sent away nor too late. */
  hasStarted(): boolean;
  /** It is inside. */
  admit(now: number): void;
  reject(why: "timeout" | "shed" | "full"): void;
}

interface Entry {
  readonly waiter: Waiter;
  readonly turn: KeyTurns;
  /** Which of its key's lanes it is in. */
  readonly lane: string;
  readonly number: number;
  /** Gates that another went through while it could not, for the sake of a different one. */
  readonly lost: Set<ConcurrencySlots>;
  losses: number;
}

/** Of one key. */
interface KeyTurns {
  readonly key: string;
  /** First come, first served among those with the same gates; one that is held up holds up no others. */
  readonly lanes: Map<string, Set<Entry>>;
  /** The lowest is next. */
  virtualTime: number;
}

/** Losses after which a place in each of its gates is kept for it: else it might never find all of them free together. */
const maxLosses = 16;
/** Turns that a key which could not use them may catch up with. */
const maxCredit = 4;

export class FairQueue {
  readonly #max: number;
  readonly #entries = new Map<Waiter, Entry>();
  readonly #turns = new Map<string, KeyTurns>();
  readonly #gateNumbers = new WeakMap<ConcurrencySlots, number>();
  #gates = 0;
  #count = 0;
  #virtualTime = 0;

  /** `max`: the most that wait at once. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** At once, where nobody waits for any of these gates. */
  tryEnter(gates: readonly ConcurrencySlots[]): boolean {
    for (const gate of gates) if (!gate.hasFreeSlot || gate.waiting > 0) return false;
    for (const gate of gates) gate.acquire();
    return true;
  }

  /** False: too many wait already. */
  wait(waiter: Waiter, now: number): boolean {
    this.#add(waiter);
    this.admitWaiting(now);
    if (this.size <= this.#max || !this.#entries.has(waiter)) return true;
    // One key shall not fill the queue for all: whoever has most waiting makes room.
    const latest = this.#newestOfLargestKey() ?? waiter;
    this.#remove(latest);
    if (latest === waiter) return false;
    latest.reject("full");
    return true;
  }

  /** It has gone by itself. */
  cancel(waiter: Waiter, now: number): void {
    if (this.#remove(waiter)) this.admitWaiting(now);
  }

  /** Lets in whoever can go in. To be called whenever a gate has more room. */
  admitWaiting(now: number): void {
    for (let entry = this.#next(); entry; entry = this.#next()) {
      const { waiter, turn } = entry;
      this.#countLosses(entry);
      this.#remove(waiter);
      const at = Math.max(turn.virtualTime, this.#virtualTime - maxCredit);
      turn.virtualTime = at + waiter.cost;
      this.#virtualTime = Math.max(this.#virtualTime, at);
      for (const gate of waiter.gates) gate.acquire();
      waiter.admit(now);
    }
    if (this.size === 0) {
      this.#turns.clear();
      this.#virtualTime = 0;
    }
  }

  /** Whoever has waited too long goes. */
  expire(now: number): void {
    for (const waiter of [...this.#entries.keys()]) {
      for (const gate of waiter.gates) gate.refresh(now);
      if (waiter.deadline > now || waiter.hasStarted()) continue;
      this.#remove(waiter);
      waiter.reject("timeout");
    }
    this.admitWaiting(now);
  }

  /** Sends away the latest of the key that has most waiting. False: nobody for whom nothing was done yet, or who may be sent away. */
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
    const { key, gates } = waiter;
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
    // Those who have nothing waiting are kept for what they have had, as long as there are few.
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
    for (const gate of waiter.gates) gate.waiting--;
    return true;
  }

  /** The first of each lane. */
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
    const kept = unlucky?.waiter.gates ?? [];
    let best: Entry | undefined;
    for (const entry of heads) {
      if ((!best || isBefore(entry, best)) && canEnter(entry, kept)) best = entry;
    }
    return best;
  }

  #countLosses({ waiter: { gates } }: Entry): void {
    for (const entry of this.#heads()) {
      const own = entry.waiter.gates;
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

/** Only where others have taken what it lacks: who is held up by its own key alone has no claim on what it shares with others. */
const isStarved = ({ waiter, lost, losses }: Entry): boolean =>
  losses >= maxLosses && waiter.gates.every((gate) => gate.hasFreeSlot || lost.has(gate));

/** One place is kept in each of these. */
const canEnter = ({ waiter }: Entry, kept: readonly ConcurrencySlots[]): boolean =>
  waiter.gates.every((gate) => gate.inFlight + (kept.includes(gate) ? 1 : 0) < gate.limit);

const isBefore = (a: Entry, b: Entry): boolean =>
  a.turn.virtualTime < b.turn.virtualTime ||
  (a.turn.virtualTime === b.turn.virtualTime && a.number < b.number);
