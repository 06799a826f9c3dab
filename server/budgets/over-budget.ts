/** The errors for a request that exceeds a budget, or whose price is unknown where the budget requires one. */
import type { BudgetedOwner } from "../lib/budget.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { BudgetStatus } from "./budget-status.ts";

const dayMs = 86_400_000;

/** `retry-after` while only reservations are in the way: requests in flight last seconds to minutes. */
const reservedRetryMs = 5000;

export interface RefusedEstimate {
  readonly dollars: number | undefined;
  /** What was asked of the budget. */
  readonly most: number | undefined;
  readonly at: number;
  /** Only reservations of requests in flight are in the way. */
  readonly isTemporary: boolean;
}

export function overBudgetError(
  { scope, name }: BudgetedOwner,
  { period, limit, spent, reserved, resetsAt }: BudgetStatus,
  { dollars: estimate, most, at, isTemporary }: RefusedEstimate,
): GatewayError {
  const waitMs = isTemporary ? reservedRetryMs : resetsAt === undefined ? undefined : resetsAt - at;
  const resets = resetsAt === undefined ? undefined : new Date(resetsAt).toISOString();
  const held = reserved > 0 ? ` and ${show(reserved)} held for calls under way` : "";
  const more = most === undefined || most === estimate ? "" : `, and at most ${show(most)}`;
  const call =
    estimate === undefined
      ? "nobody knows what this call would cost"
      : `this call is estimated at ${show(estimate)}${more}`;
  const after = isTemporary
    ? "What those calls do not cost is free again when they are over."
    : resets
      ? `It begins anew at ${resets}.`
      : "It does not begin anew by itself.";
  return new GatewayError(
    "over_budget",
    // The first words are OpenAI's: there are clients that look for them.
    `You exceeded your current quota: of the ${words[period]} of the ${scope} "${name}", ${show(limit)}, ${show(spent)} are spent${held}, and ${call}. ${after}`,
    {
      ...(isTemporary && { overrides: { retry: "later" } }),
      // A `retry-after` of more than a day is of no use to a client.
      ...(waitMs !== undefined && waitMs <= dayMs && { retryAfterMs: Math.max(1, waitMs) }),
      extra: {
        budget: {
          ...{ scope, name, period, limit, spent, reserved },
          ...{ estimate: estimate ?? null, resets_at: resets ?? null },
        },
      },
    },
  );
}

export const priceUnknownError = ({ scope, name }: BudgetedOwner): GatewayError =>
  new GatewayError(
    "price_unknown",
    `Nobody knows what this call would cost, and the budget of the ${scope} "${name}" allows no such calls. Ask the operator of this gateway to give the model a price.`,
    { param: "model" },
  );

const words = { day: "daily budget", month: "monthly budget", total: "budget" } as const;

/** $5.00, $0.0312, $0.00000002: as many digits as it takes, and no sign of how computers count. */
function show(dollars: number): string {
  const [whole = "0", digits = ""] = Number(dollars.toPrecision(9)).toFixed(12).split(".");
  return `$${whole}.${digits.replace(/0+$/, "").padEnd(2, "0")}`;
}
