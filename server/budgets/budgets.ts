/**
 * Budgets: the estimated cost of a request is reserved before it is sent, and settled with the actual cost afterwards.
 * All budgets that a request is charged to are checked in one synchronous step, so concurrent requests cannot spend the
 * same dollar twice. Day and month budgets reset at midnight UTC.
 */
import { endOfPeriod, type Period, periodNames, periods } from "../../contract/budget-periods.ts";
import type { EventData } from "../../contract/events.ts";
import { type BudgetedOwner, isLabelOwner } from "../../contract/limits-and-budgets.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { toDollars } from "../lib/nano-dollars.ts";
import type { CostEstimate } from "../limits/estimate-cost.ts";
import type { RequestBudgets } from "../limits/shared-limiter.ts";
import type { Reservation } from "../request/reservation.ts";
import type { BudgetState, Reserved } from "../storage/redis/limits-demand.ts";
import {
  type BudgetCounter,
  type BudgetCounters,
  chargedOwner,
  type ReservedAmount,
  type StandingReservation,
} from "./budget-counters.ts";
import { type BudgetStatus, overBudgetError, priceUnknownError } from "./over-budget.ts";

/** The estimated cost of a request that is charged to budgets. */
export interface Estimate extends CostEstimate {
  /** A job has reserved the cost in the budgets of its key and its project, and not in those of end users and tags. */
  readonly isReservedByJob?: boolean;
}

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

interface BudgetInPeriod {
  readonly budgeted: BudgetedOwner;
  readonly period: Period;
  /** Such as 2026-11-15. */
  readonly name: string;
  readonly limit: number;
  readonly counter: BudgetCounter;
}

type ReportThresholds = (budget: BudgetInPeriod) => void;

/** The reservation of one request. */
class BudgetReservation implements Reservation {
  readonly estimate: number | undefined;
  log?: () => void;
  readonly #reserved: readonly {
    readonly budget: BudgetInPeriod;
    readonly amount: ReservedAmount;
  }[];
  readonly #report: ReportThresholds;
  readonly #hold: string | undefined;
  #isSettled = false;

  /**
   * `underReserved`: budgets that reserve the likely cost instead of the upper bound. `hold`: the name of the
   * reservation in shared budgets.
   */
  constructor(
    budgets: readonly BudgetInPeriod[],
    estimate: Estimate,
    report: ReportThresholds,
    underReserved: readonly BudgetInPeriod[] = none,
    hold?: string,
  ) {
    const { dollars, maxDollars = dollars } = estimate;
    this.estimate = dollars;
    this.#report = report;
    this.#hold = hold;
    this.#reserved = budgets.map((budget) => {
      const mayExceedReservation = underReserved.includes(budget);
      const likelyOrMax = (mayExceedReservation ? dollars : maxDollars) ?? 0;
      const reserved = isFree(estimate, budget.budgeted) ? 0 : likelyOrMax;
      budget.counter.reserve(reserved, mayExceedReservation);
      const amount = { reserved, mayExceedReservation };
      if (hold !== undefined) budget.counter.shared?.keep(amount, hold);
      return { budget, amount };
    });
  }

  settle(dollars: number): void {
    this.#end(dollars);
  }

  release(): void {
    this.#end(0);
  }

  #end(dollars: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    for (const { budget, amount } of this.#reserved) {
      budget.counter.settle(amount, dollars, this.#hold);
      if (dollars > 0) this.#report(budget);
    }
  }
}

const none: readonly BudgetInPeriod[] = [];

export type Budgets = ReturnType<typeof createBudgets>;

export function createBudgets(options: BudgetsOptions) {
  const { counters, emit } = options;
  const budgetsOf = (budgeted: BudgetedOwner, at: number): BudgetInPeriod[] => {
    const names = periodNames(at);
    return periods.flatMap((period): BudgetInPeriod[] => {
      const limit = budgeted.budget[period];
      if (limit === undefined) return [];
      const name = names[period];
      const counter = counters.counterOf(budgeted, name);
      counter.watch(limit);
      return [{ budgeted, period, name, limit, counter }];
    });
  };
  const allBudgetsOf = (charged: readonly BudgetedOwner[], at: number): BudgetInPeriod[] =>
    charged.flatMap((budgeted) => budgetsOf(budgeted, at));

  const report = (
    { budgeted, period, name, limit, counter }: BudgetInPeriod,
    refused = false,
  ): void => {
    const { scope, id, name: ownerName, ofProject } = budgeted;
    // Their number is not bounded by the configuration.
    if (scope === "end_user") return;
    for (const percent of refused
      ? counter.thresholdsOnRefusal(limit)
      : counter.newThresholds(limit)) {
      emit({
        type: "budget.threshold",
        data: {
          scope,
          id: ofProject === undefined ? id : ownerName,
          name: ownerName,
          ...(ofProject !== undefined && { project: ofProject }),
          period,
          percent,
          spent: counter.spent,
          budget: limit,
        },
        deduplicationKey: `budget.threshold ${scope} ${name} ${limit} ${percent} ${chargedOwner(budgeted).id}`,
      });
    }
  };

  /**
   * Reports the exceeded budgets and returns the error of the request. An exhausted budget is one that the request
   * exceeds even when all reservations in flight turn out to cost nothing; any other refusal is temporary.
   */
  const refuse = (
    exceeded: readonly BudgetInPeriod[],
    { dollars, maxDollars }: Pick<Estimate, "dollars" | "maxDollars">,
    at: number,
  ): GatewayError => {
    const exhausted = exceeded.filter(({ counter, limit }) =>
      counter.isExhaustedFor(dollars || undefined, limit),
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
    const strict = charged.find(
      (owner) => owner.budget.unknownPrice === "refuse" && !isFree(estimate, owner),
    );
    if (strict && (!estimate.isCertain || estimate.dollars === undefined))
      throw priceUnknownError(strict);
    counters.evictIdle();
    return allBudgetsOf(charged, at);
  };

  return {
    /** To be called before the cost of a request of these owners is reserved. Undefined: there is nothing to wait for. */
    load: (charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined =>
      counters.load(charged, at),
    /**
     * Reserves the cost of a request in all of these budgets. If one of them is too small, throws GatewayError and
     * reserves nothing. `at`: when the request arrived, which determines the day and the month that it is charged to.
     */
    reserve: (charged: readonly BudgetedOwner[], estimate: Estimate, at: number): Reservation => {
      const { dollars, maxDollars = dollars } = estimate;
      const budgets = budgetsFor(charged, estimate, at);
      const [likelyDollars, maxOrUnknown] = [dollars || undefined, maxDollars || undefined];
      const underReserved = budgets.filter(
        ({ budgeted, counter, limit }) =>
          !isFree(estimate, budgeted) && counter.wouldExceed(maxOrUnknown, limit),
      );
      // One request at a time may exceed the budget with its upper bound if its likely cost fits: otherwise the rest
      // could never be spent.
      const exceeded = underReserved.filter(
        ({ counter, limit }) =>
          counter.hasUnderReserved || counter.wouldExceed(likelyDollars, limit),
      );
      if (exceeded.length > 0) throw refuse(exceeded, { dollars, maxDollars }, at);
      return new BudgetReservation(budgets, estimate, report, underReserved);
    },
    /**
     * The demand of a request on budgets that replicas share. Undefined: `reserve` decides in this process. Throws
     * GatewayError if a budget requires a price that is not known.
     */
    demand: (
      charged: readonly BudgetedOwner[],
      estimate: Estimate,
      at: number,
      onReserved: (reservation: Reservation) => void,
    ): RequestBudgets | undefined => {
      if (!counters.isShared) return undefined;
      const { dollars, maxDollars = dollars } = estimate;
      const budgets = budgetsFor(charged, estimate, at);
      const accept = (states: readonly BudgetState[], reservation: Reserved): BudgetInPeriod[] => {
        for (const [i, state] of states.entries()) budgets[i]?.counter.shared?.accept(state);
        return budgets.filter((_, i) => states[i]?.reservation === reservation);
      };
      return {
        demands: budgets.flatMap(({ budgeted, counter: { shared }, limit }) => {
          if (isFree(estimate, budgeted)) return shared?.demand(Number.MAX_VALUE, 0, 0) ?? [];
          return shared?.demand(limit, maxDollars ?? 0, dollars ?? 0) ?? [];
        }),
        refusal: (states) => refuse(accept(states, "nothing"), { dollars, maxDollars }, at),
        keep: (hold, states) => {
          const underReserved = accept(states, "likely");
          onReserved(new BudgetReservation(budgets, estimate, report, underReserved, hold));
        },
      };
    },
    /** Replaces the reservations of jobs. They are never refused. */
    setJobEntries: (entries: readonly JobEntry[], at: number): void => {
      const byCounter = new Map<BudgetCounter, StandingReservation[]>();
      for (const { id, amounts } of entries) {
        for (const { owner, nanos } of amounts) {
          for (const { counter } of budgetsOf(owner, at)) {
            const reservations = byCounter.get(counter) ?? [];
            reservations.push({ hold: id, dollars: toDollars(nanos) });
            byCounter.set(counter, reservations);
          }
        }
      }
      counters.setStanding(byCounter);
    },
    status: (budgeted: BudgetedOwner, at: number): BudgetStatus[] => {
      counters.evictIdle();
      return budgetsOf(budgeted, at).map((budget) => statusOf(budget, at));
    },
  };
}

/** In this budget, the request reserves nothing, and is not refused: it is free, or its cost is reserved already. */
const isFree = (
  { dollars, maxDollars = dollars, isCertain, isReservedByJob }: Estimate,
  owner: BudgetedOwner,
): boolean => (maxDollars === 0 && isCertain) || (isReservedByJob === true && !isLabelOwner(owner));

const rank = (period: Period): number => periods.indexOf(period);

const longestPeriodFirst = (a: BudgetInPeriod, b: BudgetInPeriod): number =>
  rank(b.period) - rank(a.period);

function statusOf({ period, limit, counter }: BudgetInPeriod, at: number): BudgetStatus {
  const resetsAt = endOfPeriod(period, at);
  const { spent, reserved } = counter;
  return { period, limit, spent, reserved, ...(resetsAt !== undefined && { resetsAt }) };
}
