/**
 * Budgets: the estimated cost of a request is reserved before it is sent, and settled with the actual cost afterwards.
 * All budgets that a request is charged to are checked in one synchronous step, so concurrent requests cannot spend the
 * same dollar twice. Day and month budgets reset at midnight UTC.
 */
import { endOfPeriod, type Period, periods } from "../../contract/budget-periods.ts";
import type { EventData } from "../../contract/events.ts";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { toDollars, toNanos } from "../lib/nano-dollars.ts";
import type { CostEstimate } from "../limits/estimate-cost.ts";
import type { RequestBudgets } from "../limits/shared-limiter.ts";
import type { Reservation } from "../request/reservation.ts";
import type { BudgetDemand, BudgetState, OpenEntry } from "../storage/redis/shared-limits.ts";
import type { BudgetCounter, BudgetInPeriod } from "./budget-counter.ts";
import { type BudgetCounters, chargedOwner } from "./budget-counters.ts";
import { type BudgetStatus, overBudgetError, priceUnknownError } from "./over-budget.ts";

export type Estimate = CostEstimate;

/** A budget reached a threshold. */
export interface ThresholdEvent {
  readonly type: "budget.threshold";
  readonly data: EventData["budget.threshold"];
  /** Identical for the same threshold of the same budget in the same period. */
  readonly deduplicationKey: string;
}

interface BudgetsOptions {
  readonly counters: BudgetCounters;
  readonly emit: (event: ThresholdEvent) => void;
}

/**
 * What a part of a job may still cost, in the budgets that it is charged to. Every process reserves it under the same
 * id, in the present day, month and total: at midnight UTC it moves.
 */
export interface JobEntry {
  readonly id: string;
  /** Grows with each change: of two versions of an entry, the newer one counts. */
  readonly version: number;
  readonly amounts: readonly { readonly owner: BudgetedOwner; readonly nanos: number }[];
}

/** The reservation of one request. Its ledger row charges the request: the two are in one turn of the event loop. */
class BudgetReservation implements Reservation {
  readonly estimate: number | undefined;
  readonly #id: string;
  readonly #counters: readonly BudgetCounter[];

  constructor(id: string, estimate: number | undefined, counters: readonly BudgetCounter[]) {
    this.#id = id;
    this.estimate = estimate;
    this.#counters = counters;
  }

  release(): void {
    for (const counter of this.#counters) counter.close(this.#id);
  }
}

export type Budgets = ReturnType<typeof createBudgets>;

export function createBudgets(options: BudgetsOptions) {
  const { counters, emit } = options;
  const allBudgetsOf = (charged: readonly BudgetedOwner[], at: number): BudgetInPeriod[] =>
    charged.flatMap((budgeted) => counters.budgetsOf(budgeted, at));

  const report = (
    { budgeted, period, name, limit, counter }: BudgetInPeriod,
    isRefused = false,
  ): void => {
    const { scope, id, name: ownerName, ofProject } = budgeted;
    // Their number is not bounded by the configuration.
    if (scope === "end_user") return;
    for (const percent of counter.newThresholds(limit, isRefused)) {
      const budget = toDollars(limit);
      emit({
        type: "budget.threshold",
        data: {
          scope,
          id: ofProject === undefined ? id : ownerName,
          name: ownerName,
          ...(ofProject !== undefined && { project: ofProject }),
          period,
          percent,
          spent: toDollars(counter.owner.spent),
          budget,
        },
        deduplicationKey: `budget.threshold ${scope} ${name} ${budget} ${percent} ${chargedOwner(budgeted).id}`,
      });
    }
  };
  counters.onSpent = (budget) => report(budget);

  /**
   * Reports the exceeded budgets and returns the error of the request. An exhausted budget is one that the request
   * exceeds even when all reservations in flight turn out to cost nothing; any other refusal is temporary.
   */
  const refuse = (
    exceeded: readonly BudgetInPeriod[],
    { dollars, maxDollars }: Pick<Estimate, "dollars" | "maxDollars">,
    at: number,
  ): GatewayError => {
    const { likely } = amountsOf({ dollars, maxDollars });
    const exhausted = exceeded.filter(({ counter, limit }) =>
      counter.isExhaustedFor(likely || undefined, limit),
    );
    for (const budget of exceeded) report(budget, exhausted.includes(budget));
    const isTemporary = exhausted.length === 0;
    // The error names the budget with the longest period: a reset of a shorter one would not help.
    const named = (isTemporary ? exceeded : exhausted).toSorted(longestPeriodFirst)[0]!;
    return overBudgetError(named.budgeted, statusOf(named, at), {
      dollars,
      maxDollars,
      at,
      isTemporary,
    });
  };

  const budgetsFor = (
    charged: readonly BudgetedOwner[],
    estimate: Estimate,
    at: number,
  ): BudgetInPeriod[] => {
    refuseUnknownPrice(charged, estimate);
    counters.evictIdle();
    return allBudgetsOf(charged, at);
  };

  /** Reserves the likely cost in these budgets, and the upper bound in the others. */
  const open = (
    budgets: readonly BudgetInPeriod[],
    estimate: Estimate,
    underReserved: readonly BudgetInPeriod[],
    sharedId?: string,
  ): Reservation => {
    const id = sharedId ?? counters.newEntryId();
    const { most, likely } = amountsOf(estimate);
    const reserved = budgets.filter((budget) => {
      const isLikely = underReserved.includes(budget);
      const nanos = isLikely ? likely : most;
      if (nanos === 0 || isFree(estimate)) return false;
      budget.counter.open({ id, nanos, isLikely, version: 0 }, sharedId !== undefined);
      return true;
    });
    return new BudgetReservation(
      id,
      estimate.dollars,
      reserved.map(({ counter }) => counter),
    );
  };

  return {
    /**
     * To be called before the cost of a request of these owners is reserved. Undefined if there is nothing to wait
     * for.
     */
    load: (charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined =>
      counters.load(charged, at),
    /**
     * Reserves the cost of a request in all of these budgets. If one of them is too small, throws GatewayError and
     * reserves nothing. `at`: when the request arrived, which determines the day and the month that it is charged to.
     */
    reserve: (charged: readonly BudgetedOwner[], estimate: Estimate, at: number): Reservation => {
      const { dollars, maxDollars } = estimate;
      const { most, likely } = amountsOf(estimate);
      const budgets = budgetsFor(charged, estimate, at);
      const underReserved = budgets.filter(
        ({ counter, limit }) => !isFree(estimate) && counter.wouldExceed(most || undefined, limit),
      );
      // One request at a time may exceed the budget with its upper bound if its likely cost fits: otherwise the rest
      // could never be spent.
      const exceeded = underReserved.filter(
        ({ counter, limit }) =>
          counter.hasUnderReserved || counter.wouldExceed(likely || undefined, limit),
      );
      if (exceeded.length > 0) throw refuse(exceeded, { dollars, maxDollars }, at);
      return open(budgets, estimate, underReserved);
    },
    /**
     * The demand of a request on budgets that replicas share. Undefined if `reserve` decides in this process. Throws
     * GatewayError if a budget requires a price that is not known.
     */
    demand: (
      charged: readonly BudgetedOwner[],
      estimate: Estimate,
      at: number,
      onReserved: (reservation: Reservation) => void,
    ): RequestBudgets | undefined => {
      if (!counters.isShared) return undefined;
      const { dollars, maxDollars } = estimate;
      const { most, likely } = amountsOf(estimate);
      const find = (): BudgetInPeriod[] => budgetsFor(charged, estimate, at);
      find();
      const accept = (
        found: readonly BudgetInPeriod[],
        demands: readonly BudgetDemand[],
        states: readonly BudgetState[],
      ): void => {
        for (const [i, { counter }] of found.entries()) {
          const [demand, state] = [demands[i], states[i]];
          if (demand && state) counter.accept(demand, state);
        }
      };
      return {
        demands: () =>
          find().map(({ counter, limit }) =>
            isFree(estimate)
              ? counter.demand(Number.MAX_SAFE_INTEGER, 0, 0)
              : counter.demand(limit, most, likely),
          ),
        refusal: (demands, states) => {
          const found = find();
          accept(found, demands, states);
          const exceeded = found.filter((_, i) => states[i]?.reserved === "nothing");
          return refuse(exceeded, { dollars, maxDollars }, at);
        },
        onReserved: (id, demands, states) => {
          const found = find();
          const underReserved = found.filter((_, i) => states[i]?.reserved === "likely");
          const reservation = open(found, estimate, underReserved, id);
          // The states have the entry already.
          accept(found, demands, states);
          onReserved(reservation);
        },
      };
    },
    /** Replaces the reservations of jobs. They are never refused. */
    setJobEntries: (entries: readonly JobEntry[], at: number): void => {
      const byCounter = new Map<BudgetCounter, OpenEntry[]>();
      for (const { id, version, amounts } of entries) {
        for (const { owner, nanos } of amounts) {
          if (nanos <= 0) continue;
          for (const { counter } of counters.budgetsOf(owner, at)) {
            const own = byCounter.get(counter) ?? [];
            own.push({ id, nanos, isLikely: false, version });
            byCounter.set(counter, own);
          }
        }
      }
      counters.setJobEntries(byCounter);
    },
    /** Reads what the other replicas have reported, before `status`. */
    read: (owners: readonly BudgetedOwner[], at: number): Promise<void> => {
      counters.evictIdle();
      return counters.read(allBudgetsOf(owners, at));
    },
    status: (budgeted: BudgetedOwner, at: number): BudgetStatus[] => {
      counters.evictIdle();
      return counters.budgetsOf(budgeted, at).map((budget) => statusOf(budget, at));
    },
  };
}

/** Throws GatewayError if one of the budgets requires a price that is not known. */
export function refuseUnknownPrice(charged: readonly BudgetedOwner[], estimate: Estimate): void {
  if (isFree(estimate) || (estimate.isCertain && estimate.dollars !== undefined)) return;
  const strict = charged.find(({ budget }) => budget.unknownPrice === "refuse");
  if (strict) throw priceUnknownError(strict);
}

/** What is to be reserved, in nano-dollars. 0: unknown. */
const amountsOf = ({
  dollars,
  maxDollars = dollars,
  reservedPart = 0,
}: Pick<Estimate, "dollars" | "maxDollars" | "reservedPart">) => {
  const rest = (whole = 0): number => {
    const nanos = toNanos(whole);
    // The cost is known, also if all of it is reserved.
    return nanos === 0 ? 0 : Math.max(1, nanos - toNanos(reservedPart));
  };
  return { most: rest(maxDollars), likely: rest(dollars) };
};

/** The request reserves nothing, and is not refused: it is free, or its cost is reserved already. */
const isFree = ({ dollars, maxDollars = dollars, isCertain }: Estimate): boolean =>
  maxDollars === 0 && isCertain;

const rank = (period: Period): number => periods.indexOf(period);

const longestPeriodFirst = (a: BudgetInPeriod, b: BudgetInPeriod): number =>
  rank(b.period) - rank(a.period);

function statusOf({ period, limit, counter }: BudgetInPeriod, at: number): BudgetStatus {
  const resetsAt = endOfPeriod(period, at);
  return {
    period,
    limit: toDollars(limit),
    spent: toDollars(counter.used),
    reserved: toDollars(counter.reserved),
    ...(resetsAt !== undefined && { resetsAt }),
  };
}
