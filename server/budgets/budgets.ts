/**
 * Budgets: the estimated cost of a request is reserved before it is sent, and settled with the actual cost afterwards.
 * All budgets that a request is charged to are checked in one synchronous step, so concurrent requests cannot spend the
 * same dollar twice. Day and month budgets reset at midnight UTC.
 */
import { endOfPeriod, type Period, periods } from "../../contract/budget-periods.ts";
import type { EventData } from "../../contract/events.ts";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { Account, AmountDemand } from "../ledger/account.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { toDollars, toNanos } from "../lib/nano-dollars.ts";
import type { CostEstimate } from "../limits/estimate-cost.ts";
import type { RequestBudgets, SharedLimiter } from "../limits/shared-limiter.ts";
import type { Reservation } from "../request/reservation.ts";
import type { BudgetDemand, BudgetState, Reserved } from "../storage/redis/shared-limits.ts";
import { type BudgetStatus, overBudgetError, priceUnknownError } from "./over-budget.ts";
import {
  type BudgetInPeriod,
  chargedOwner,
  type JobReservation,
  type OwnerBudgets,
} from "./owner-budgets.ts";

export type Estimate = CostEstimate;

/** A budget reached a threshold. */
export interface ThresholdEvent {
  readonly type: "budget.threshold";
  readonly data: EventData["budget.threshold"];
  /** Identical for the same threshold of the same budget in the same period. */
  readonly deduplicationKey: string;
}

interface BudgetsOptions {
  readonly owners: OwnerBudgets;
  /** The budgets that replicas share. Undefined if each process counts for itself. */
  readonly shared?: Pick<SharedLimiter, "isReachable" | "newId" | "readBudgets"> | undefined;
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
  /** The likely cost. If absent, the upper bound. */
  readonly isLikely?: boolean | undefined;
  readonly amounts: readonly { readonly owner: BudgetedOwner; readonly nanos: number }[];
}

/** The reservation of one request. Its ledger row charges the request: the two are in one turn of the event loop. */
class BudgetReservation implements Reservation {
  readonly estimate: number | undefined;
  readonly dollars: number | undefined;
  readonly isLikely: boolean;
  readonly #id: string;
  readonly #accounts: readonly Account[];

  constructor(
    id: string,
    { dollars, maxDollars = dollars }: Pick<Estimate, "dollars" | "maxDollars">,
    isLikely: boolean,
    accounts: readonly Account[],
  ) {
    this.#id = id;
    this.estimate = dollars;
    this.isLikely = isLikely;
    this.dollars = isLikely ? dollars : maxDollars;
    this.#accounts = accounts;
  }

  release(): void {
    for (const account of this.#accounts) account.close(this.#id);
  }
}

/** The demand of a request on its budgets. */
export interface BudgetRequest extends RequestBudgets {
  /**
   * Reserves the cost without the shared budgets, in one synchronous step. If one of the budgets is too small, throws
   * GatewayError and reserves nothing.
   */
  reserveHere(): void;
}

export type Budgets = ReturnType<typeof createBudgets>;

export function createBudgets({ owners, shared, emit }: BudgetsOptions) {
  let entries = 0;
  const report = (budget: BudgetInPeriod, isRefused = false): void => {
    const { budgeted, period, account } = budget;
    const { scope, id, name, ofProject } = budgeted;
    // Their number is not bounded by the configuration.
    if (scope === "end_user") return;
    for (const percent of budget.newThresholds(isRefused)) {
      const limit = toDollars(budget.limit);
      emit({
        type: "budget.threshold",
        data: {
          scope,
          id: ofProject === undefined ? id : name,
          name,
          ...(ofProject !== undefined && { project: ofProject }),
          period,
          percent,
          spent: toDollars(account.spent),
          budget: limit,
        },
        deduplicationKey: `budget.threshold ${scope} ${account.period} ${limit} ${percent} ${chargedOwner(budgeted).id}`,
      });
    }
  };
  owners.onSpent = report;

  /**
   * Reports the exceeded budgets and returns the error of the request. An exhausted budget is one that the request
   * exceeds even when all reservations in flight turn out to cost nothing; any other refusal is temporary.
   */
  const refuse = (
    exceeded: readonly BudgetInPeriod[],
    { dollars, maxDollars }: Pick<Estimate, "dollars" | "maxDollars">,
    at: number,
  ): GatewayError => {
    const { likely } = amountsOf({ dollars, maxDollars, isCertain: false });
    const exhausted = exceeded.filter(({ account, limit }) =>
      account.isExhaustedFor(likely, limit),
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

  const find = (charged: readonly BudgetedOwner[], at: number): BudgetInPeriod[] => {
    owners.evictIdle();
    return owners.of(charged, at);
  };

  return {
    /**
     * To be called before the cost of a request of these owners is reserved. Undefined if there is nothing to wait
     * for.
     */
    load: (charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined =>
      owners.load(charged, at),
    /** The shared budgets decide. */
    get isShared(): boolean {
      return shared?.isReachable === true;
    },
    /**
     * The demand of a request on all of these budgets. Throws GatewayError if a budget requires a price that is not
     * known. `at`: when the request arrived, which determines the day and the month that it is charged to.
     */
    request: (
      charged: readonly BudgetedOwner[],
      estimate: Estimate,
      at: number,
      onReserved: (reservation: Reservation) => void,
    ): BudgetRequest => {
      refuseUnknownPrice(charged, estimate);
      const amounts = amountsOf(estimate);
      const demandOn = ({ limit }: BudgetInPeriod): AmountDemand => ({ limit, ...amounts });
      const open = (
        found: readonly BudgetInPeriod[],
        reserved: readonly Reserved[],
        sharedId?: string,
      ): void => {
        const id = sharedId ?? shared?.newId() ?? String(++entries);
        const accounts = amounts.most === 0 ? [] : found.map(({ account }) => account);
        for (const [i, account] of accounts.entries()) {
          const isLikely = reserved[i] === "likely";
          const nanos = isLikely ? amounts.likely : amounts.most;
          account.open({ id, nanos, isLikely, version: 0 }, sharedId !== undefined);
        }
        const isLikely = reserved.includes("likely");
        onReserved(new BudgetReservation(id, estimate, isLikely, accounts));
      };
      const refusal = (found: readonly BudgetInPeriod[], reserved: readonly Reserved[]) =>
        refuse(
          found.filter((_, i) => reserved[i] === "nothing"),
          estimate,
          at,
        );
      return {
        demands: () => find(charged, at).map((budget) => budget.account.demand(demandOn(budget))),
        refusal: (demands, states) => {
          const found = find(charged, at);
          accept(found, demands, states);
          return refusal(found, states.map(reservedIn));
        },
        onReserved: (id, demands, states) => {
          const found = find(charged, at);
          open(found, states.map(reservedIn), id);
          // The states have the entry already.
          accept(found, demands, states);
        },
        reserveHere: () => {
          const found = find(charged, at);
          const reserved = found.map((budget) => budget.account.reservable(demandOn(budget)));
          if (reserved.includes("nothing")) throw refusal(found, reserved);
          open(found, reserved);
        },
      };
    },
    /** Replaces the reservations of jobs. They are never refused. */
    setJobEntries: (jobs: readonly JobEntry[], at: number): void => {
      const reservations = jobs.flatMap(({ id, version, isLikely = false, amounts }) =>
        amounts
          .filter(({ nanos }) => nanos > 0)
          .flatMap(({ owner, nanos }) => {
            const entry = { id, nanos, isLikely, version };
            return owners
              .of([owner], at)
              .map(({ account }): JobReservation => ({ account, entry }));
          }),
      );
      owners.setJobs(reservations);
    },
    /** Reads what the other replicas have reported, before `status`. */
    read: async (charged: readonly BudgetedOwner[], at: number): Promise<void> => {
      if (!shared?.isReachable) return;
      const found = find(charged, at);
      const demands = found.map(({ account, limit }) =>
        account.demand({ limit, most: 0, likely: 0 }),
      );
      const states = await shared.readBudgets(demands);
      if (states) accept(found, demands, states);
    },
    status: (budgeted: BudgetedOwner, at: number): BudgetStatus[] =>
      find([budgeted], at).map((budget) => statusOf(budget, at)),
  };
}

/** The reply of the shared budgets. */
function accept(
  found: readonly BudgetInPeriod[],
  demands: readonly BudgetDemand[],
  states: readonly BudgetState[],
): void {
  for (const [i, { account }] of found.entries()) {
    const [demand, state] = [demands[i], states[i]];
    if (demand && state) account.accept(demand, state);
  }
}

const reservedIn = ({ reserved }: BudgetState): Reserved => reserved;

/** Throws GatewayError if one of the budgets requires a price that is not known. */
export function refuseUnknownPrice(charged: readonly BudgetedOwner[], estimate: Estimate): void {
  if (isFree(estimate) || (estimate.isCertain && estimate.dollars !== undefined)) return;
  const strict = charged.find(({ budget }) => budget.unknownPrice === "refuse");
  if (strict) throw priceUnknownError(strict);
}

/**
 * What is to be reserved, in nano-dollars. 0: unknown, and the budget must not be used up. A request that is free, or
 * whose cost is reserved already, reserves nothing, and fits into any limit.
 */
const amountsOf = (
  estimate: Pick<Estimate, "dollars" | "maxDollars" | "reservedPart" | "isCertain">,
) => {
  const { dollars, maxDollars = dollars, reservedPart = 0 } = estimate;
  if (isFree(estimate)) return { most: 0, likely: 0, limit: Number.MAX_SAFE_INTEGER };
  const rest = (whole = 0): number => {
    const nanos = toNanos(whole);
    // The cost is known, also if all of it is reserved.
    return nanos === 0 ? 0 : Math.max(1, nanos - toNanos(reservedPart));
  };
  return { most: rest(maxDollars), likely: rest(dollars) };
};

const isFree = ({
  dollars,
  maxDollars = dollars,
  isCertain,
}: Pick<Estimate, "dollars" | "maxDollars" | "isCertain">): boolean =>
  maxDollars === 0 && isCertain;

const rank = (period: Period): number => periods.indexOf(period);

const longestPeriodFirst = (a: BudgetInPeriod, b: BudgetInPeriod): number =>
  rank(b.period) - rank(a.period);

function statusOf({ period, limit, account }: BudgetInPeriod, at: number): BudgetStatus {
  const resetsAt = endOfPeriod(period, at);
  return {
    period,
    limit: toDollars(limit),
    spent: toDollars(account.used),
    reserved: toDollars(account.reserved),
    ...(resetsAt !== undefined && { resetsAt }),
  };
}
