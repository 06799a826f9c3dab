/**
 * Reserves the lines of a range in the budgets of their end users and tags while the vendor's input file is written. An
 * owner has one reservation, which grows with each of its lines: reserved one by one, lines of the same batch would
 * refuse each other by the most that each may cost.
 */
import type { BudgetedOwner } from "../../../contract/limits-and-budgets.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { SentLine } from "./sent-requests.ts";

/** In nano-dollars. `nanos`: null if nothing is known yet. */
type LineCost = Pick<SentLine, "nanos" | "maxNanos">;

/** Rejects with GatewayError if the budget is too small. Undefined if there is nothing to reserve. */
type ReserveIn = (owner: BudgetedOwner, cost: LineCost) => Promise<Reservation | undefined>;

interface OfOwner {
  readonly cost: LineCost;
  readonly reservation: Reservation | undefined;
}

const nothing: OfOwner = { cost: { nanos: null }, reservation: undefined };

export class EndUserAndTagReservations {
  readonly #reserve: ReserveIn;
  readonly #byOwner = new Map<string, OfOwner>();

  constructor(reserve: ReserveIn) {
    this.#reserve = reserve;
  }

  /** A budget has room for the likely cost only. */
  get isLikely(): boolean {
    return [...this.#byOwner.values()].some(({ reservation }) => reservation?.isLikely);
  }

  /**
   * Rejects with GatewayError, and reserves nothing for the line, if one of the budgets is too small: for now, because
   * of other requests (`retry: "later"`), or for good.
   */
  async add(owners: readonly BudgetedOwner[], line: LineCost): Promise<void> {
    const before: [BudgetedOwner, LineCost][] = [];
    try {
      for (const owner of owners) {
        const { cost } = this.#of(owner);
        before.push([owner, cost]);
        await this.#replace(owner, sumOf(cost, line));
      }
    } catch (error) {
      for (const [owner, cost] of before) await this.#restore(owner, cost);
      throw error;
    }
  }

  release(): void {
    for (const { reservation } of this.#byOwner.values()) reservation?.release();
    this.#byOwner.clear();
  }

  #of(owner: BudgetedOwner): OfOwner {
    return this.#byOwner.get(nameOf(owner)) ?? nothing;
  }

  async #restore(owner: BudgetedOwner, cost: LineCost): Promise<void> {
    if (cost.nanos === null) this.#drop(owner);
    else await this.#replace(owner, cost).catch(throwForNow);
  }

  async #replace(owner: BudgetedOwner, cost: LineCost): Promise<void> {
    this.#drop(owner);
    const reservation = await this.#reserve(owner, cost);
    this.#byOwner.set(nameOf(owner), { cost, reservation });
  }

  #drop(owner: BudgetedOwner): void {
    this.#of(owner).reservation?.release();
    this.#byOwner.delete(nameOf(owner));
  }
}

const nameOf = ({ scope, id }: BudgetedOwner): string => `${scope} ${id}`;

function sumOf(sum: LineCost, { nanos, maxNanos = nanos ?? 0 }: LineCost): LineCost {
  if (nanos === null) return sum;
  const { nanos: before, maxNanos: maxBefore = before ?? 0 } = sum;
  return { nanos: (before ?? 0) + nanos, maxNanos: maxBefore + maxNanos };
}

/** Others took what was reserved for the earlier lines, so the batch has to wait. */
function throwForNow(error: unknown): never {
  if (!(error instanceof GatewayError)) throw error;
  const { kind, message, details } = error;
  throw new GatewayError(kind, message, { ...details, overrides: { retry: "later" } });
}
