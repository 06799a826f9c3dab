/**
 * The errors "budget exceeded", for a request that does not fit into a budget, and "price unknown", for an unknown
 * price where the budget requires one.
 */
import type { Period } from "../../contract/budget-periods.ts";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { roundDollars } from "../lib/nano-dollars.ts";
import { dayMs } from "../lib/timers.ts";

/** The status of a budget, for the admin API and for errors. */
export interface BudgetStatus {
  readonly period: Period;
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  /** Unix milliseconds. Absent for a total budget, which never resets. */
  readonly resetsAt?: number;
}

/** `retry-after` of a budget that is too small only because of reservations, which end with requests in flight. */
const reservedRetryMs = 2000;

interface RefusedEstimate {
  readonly dollars: number | undefined;
  /** The upper bound of the cost, which did not fit into the budget. */
  readonly maxDollars: number | undefined;
  readonly at: number;
  /** The budget is too small only because of the reservations of requests in flight. */
  readonly isTemporary: boolean;
}

export function overBudgetError(
  owner: BudgetedOwner,
  { period, limit, spent, reserved, resetsAt }: BudgetStatus,
  { dollars: estimate, maxDollars, at, isTemporary }: RefusedEstimate,
): GatewayError {
  const { scope, name, ofProject } = owner;
  const resetMs = resetsAt === undefined ? undefined : resetsAt - at;
  const waitMs = isTemporary ? reservedRetryMs : resetMs;
  const resets = resetsAt === undefined ? undefined : new Date(resetsAt).toISOString();
  const reservedText =
    reserved > 0 ? `, ${formatDollars(reserved)} is reserved for requests in flight` : "";
  const upperBound =
    maxDollars === undefined || maxDollars === estimate
      ? ""
      : `, at most ${formatDollars(maxDollars)}`;
  const cost =
    estimate === undefined
      ? "the cost of this request is unknown"
      : `this request is estimated at ${formatDollars(estimate)}${upperBound}`;
  const resetAdvice = resets ? `The budget resets at ${resets}.` : "The budget does not reset.";
  const advice = isTemporary
    ? "Reservations are released when those requests end. Retry then."
    : resetAdvice;
  return new GatewayError(
    "over_budget",
    // The first words are OpenAI's: some clients look for them.
    `You exceeded your current quota: the ${budgetNames[period]} of ${ownerText(owner)} is ${formatDollars(limit)}; ${formatDollars(spent)} is spent${reservedText}, and ${cost}. ${advice}`,
    {
      ...(isTemporary && { overrides: { retry: "later" } }),
      // A `retry-after` of more than a day is of no use to a client.
      ...(waitMs !== undefined && waitMs <= dayMs && { retryAfterMs: Math.max(1, waitMs) }),
      extra: {
        budget: {
          scope,
          name,
          ...(ofProject !== undefined && { project: ofProject }),
          period,
          limit,
          spent: roundDollars(spent),
          reserved: roundDollars(reserved),
          estimate: estimate === undefined ? null : roundDollars(estimate),
          resets_at: resets ?? null,
        },
      },
    },
  );
}

const scopeNames = { key: "key", project: "project", end_user: "end user", tag: "tag" } as const;

function ownerText({ scope, name, ofProject }: BudgetedOwner): string {
  const text = `the ${scopeNames[scope]} "${name}"`;
  return ofProject === undefined ? text : `${text} in the project "${ofProject}"`;
}

export const priceUnknownError = (owner: BudgetedOwner): GatewayError =>
  new GatewayError(
    "price_unknown",
    `The cost of this request is unknown, and the budget of ${ownerText(owner)} refuses requests without a known price. Ask the operator of this gateway to configure a price for the model.`,
    { param: "model" },
  );

const budgetNames = { day: "daily budget", month: "monthly budget", total: "budget" } as const;

/** Such as $5.00, $0.0312, $0.00000002: as many digits as needed, without rounding errors of floating point. */
function formatDollars(dollars: number): string {
  const [integerDigits = "0", digits = ""] = Number(dollars.toPrecision(9)).toFixed(12).split(".");
  return `$${integerDigits}.${digits.replace(/0+$/, "").padEnd(2, "0")}`;
}
