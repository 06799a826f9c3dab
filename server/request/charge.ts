/**
 * The charge of a request: the sum of what its attempts cost. Each attempt that an upstream bills, or may bill, is
 * added when it ends; an attempt that it does not bill adds nothing.
 */
import { toDollars, toNanos } from "../lib/nano-dollars.ts";
import type { Target } from "../upstream/contract.ts";

/** What one attempt costs, or a part of one. In US dollars. */
export interface AttemptCharge {
  /** If absent, an earlier process sent it, perhaps to a target that was removed since. */
  readonly target?: Target;
  /** "maybe": the attempt failed or was canceled, and the upstream may have done its work. */
  readonly billed: "yes" | "maybe";
  /** Undefined if unknown. */
  readonly cost: number | undefined;
  /** Charged in place of an unknown cost. Undefined if no price is known. */
  readonly estimate?: number | undefined;
}

/** A price or a vendor's report may be anything. */
const isAmount = (cost: number | undefined): cost is number =>
  cost !== undefined && cost >= 0 && cost < Number.POSITIVE_INFINITY;

/** In whole nano-dollars, so that the sums of rows, jobs and budgets are equal. */
export class Charge {
  #cost: number | undefined;
  #estimates = 0;
  #isUnpriced = false;
  #isUncertain = false;

  add({ billed, cost, estimate }: AttemptCharge): void {
    if (billed === "maybe") this.#isUncertain = true;
    if (isAmount(cost)) this.#cost = (this.#cost ?? 0) + toNanos(cost);
    else if (estimate !== undefined) this.#estimates += toNanos(estimate);
    else if (billed === "yes") this.#isUnpriced = true;
  }

  /** The sum of the known costs. Undefined if no cost is known, or a part has no price. */
  get cost(): number | undefined {
    return this.#isUnpriced || this.#cost === undefined ? undefined : toDollars(this.#cost);
  }

  /** The rest of the charge: by estimates, or as the known part of an unknown cost. Undefined if nothing. */
  get estimatedCost(): number | undefined {
    const known = this.#isUnpriced ? 0 : (this.#cost ?? 0);
    return toDollars((this.#cost ?? 0) + this.#estimates - known) || undefined;
  }

  /** What budgets are charged. */
  get total(): number {
    return toDollars((this.#cost ?? 0) + this.#estimates);
  }

  /** An upstream may have billed an attempt without a response. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** No upstream has billed anything, as far as is known. */
  get isEmpty(): boolean {
    return (
      this.#cost === undefined && this.#estimates === 0 && !this.#isUnpriced && !this.#isUncertain
    );
  }
}
