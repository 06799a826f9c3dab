/**
 * How many calls at a time do a target good: more while it keeps up, fewer when it is too much. As a rule that is a wish:
 * beyond it others are preferred, and where there is nobody else the call goes there all the same. It is a wall for those
 * that come within seconds of the target's saying so: what it would only refuse waits here, in turn, and is served.
 */
import { Gate } from "../../limits/concurrency-gate.ts";

const first = 16;
/** So many it is always given: who says with fewer that it is too much is not busy but broken. */
export const least = 4;
const most = 4096;
const afterRecovery = 8;
/** Many calls that fail in one moment are one piece of news. */
const calmMs = 100;
/** So long after its last complaint the wall is taken down, before those who wait there lose their patience. */
const wallMs = 3000;
/** What is left of it after a complaint. */
const share = 0.7;
/** How many more it is given in the time of a call: before a wall little by little, as each one too many is refused. */
const [growth, walledGrowth] = [8, 2];

/** It lets in as many as like, unless it is up. */
class Wall extends Gate {
  #raisedAt = 0;

  constructor() {
    super(Number.POSITIVE_INFINITY);
  }

  raise(now: number, limit: number): void {
    this.#raisedAt = now;
    this.limit = limit;
  }

  override look(now: number): void {
    const since = now - this.#raisedAt;
    if (since < 0 || since >= wallMs) this.limit = Number.POSITIVE_INFINITY;
  }
}

export class Concurrency {
  /** Those under way are inside. */
  readonly gate = new Wall();
  #limit = first;
  #loweredAt = Number.NEGATIVE_INFINITY;

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Read for every call. */
  get isWalled(): boolean {
    return this.gate.limit !== Number.POSITIVE_INFINITY;
  }

  /** Another would go over the wall. */
  isFull(now: number): boolean {
    this.gate.look(now);
    return this.isWalled && (!this.gate.hasRoom || this.gate.waiting > 0);
  }

  open(): void {
    this.gate.limit = Number.POSITIVE_INFINITY;
  }

  hasRoom(): boolean {
    return this.gate.inside < this.#limit;
  }

  /** It answered, with so many under way. */
  kept(): void {
    // A limit that nobody comes near has proved nothing.
    if (this.gate.inside < this.#limit * 0.8) return;
    const more = (this.isWalled ? walledGrowth : growth) / this.#limit;
    this.#set(Math.min(most, this.#limit + more));
  }

  /** It took too long. */
  tooSlow(now: number): void {
    const since = now - this.#loweredAt;
    if (since >= 0 && since < calmMs) return;
    this.#loweredAt = now;
    this.#set(Math.max(least, this.#limit * share));
  }

  /** It said so itself. Those that are under way still are what it can take, or more. */
  tooMuch(now: number): void {
    const taken = Math.max(least, this.gate.inside * share);
    this.#limit = this.isWalled ? Math.min(this.#limit, taken) : taken;
    this.gate.raise(now, this.limit);
  }

  beginAnew(now: number): void {
    this.#set(Math.min(this.#limit, afterRecovery));
    if (this.isWalled) this.gate.raise(now, this.limit);
  }

  #set(limit: number): void {
    this.#limit = limit;
    if (this.isWalled) this.gate.limit = this.limit;
  }
}
