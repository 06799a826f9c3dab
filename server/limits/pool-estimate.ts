/**
 * A replica's estimate of a shared pool between two replies: the state at the last reply, plus the refill since then.
 * Amounts are in parts, except `limit` and `unreported`, which are items.
 */
import type { LeaseReply, LeaseRequest } from "../storage/ports/shared-leases.ts";

export class PoolEstimate {
  readonly #unit: number;
  readonly #refills: boolean;
  #limit: number;
  #available: number;
  #unspent: number;
  #repliedAt: number;
  /** Semaphores: other replicas wait for slots, so this one keeps none that it does not use. */
  othersWait = false;

  constructor(
    { limit, unit, refills }: Pick<LeaseRequest, "limit" | "unit" | "refills">,
    unspent: number,
    now: number,
  ) {
    this.#limit = limit;
    this.#unit = unit;
    this.#refills = refills;
    this.#available = unspent;
    this.#unspent = unspent;
    this.#repliedAt = now;
  }

  get limit(): number {
    return this.#limit;
  }

  /** The time of the last reply, or of the creation. */
  get repliedAt(): number {
    return this.#repliedAt;
  }

  available(now: number): number {
    return this.#refilled(this.#available, now);
  }

  /** `unreported`: the items that this replica has spent since the last reply. */
  unspent(now: number, unreported = 0): number {
    return this.#refilled(this.#unspent - unreported * this.#unit, now);
  }

  accept(reply: LeaseReply, sentAt: number): void {
    this.#available = reply.available;
    this.#unspent = reply.unspent;
    this.othersWait = reply.othersWait;
    this.#repliedAt = sentAt;
  }

  /** A token bucket keeps the fraction that is used; any other pool keeps the number of used items. */
  resize(limit: number, now: number, unreported: number): void {
    const scale = (parts: number): number => {
      if (!this.#refills) return parts + (limit - this.#limit) * this.#unit;
      return parts > 0 ? Math.floor((parts * limit) / this.#limit) : parts;
    };
    this.#unspent = scale(this.unspent(now, unreported)) + unreported * this.#unit;
    this.#available = scale(this.available(now));
    this.#repliedAt = now;
    this.#limit = limit;
  }

  /** Another source, such as the ledger, shows that at most `unspent` is left. */
  lower(unspent: number, unreported: number): void {
    this.#unspent = Math.min(this.#unspent, unspent + unreported * this.#unit);
  }

  #refilled(parts: number, now: number): number {
    if (!this.#refills) return parts;
    const elapsedMs = Math.max(0, Math.floor(now - this.#repliedAt));
    return Math.min(this.#limit * this.#unit, parts + elapsedMs * this.#limit);
  }
}
