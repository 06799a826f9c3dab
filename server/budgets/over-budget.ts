/** What a caller is told whose call would cost more than a budget has left, or nobody knows what. */
import type { Budgeted } from "../lib/budget.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Standing } from "./budgets.ts";

const dayMs = 86_400_000;

/** When to look again whether calls under way have given back what was held for them: some last seconds, some minutes. */
const heldAgainMs = 5000;

export interface Wanted {
  readonly dollars: number | undefined;
  /** What was asked of the budget. */
  readonly most: number | undefined;
  readonly at: number;
  /** Nothing but calls under way is in the way. */
  readonly passes: boolean;
}

export function overBudget(
  { scope, name }: Budgeted,
  { period, limit, spent, reserved, resetsAt }: Standing,
  { dollars: estimate, most, at, passes }: Wanted,
): GatewayError {
  const waitMs = passes ? heldAgainMs : resetsAt === undefined ? undefined : resetsAt - at;
  const resets = resetsAt === undefined ? undefined : new Date(resetsAt).toISOString();
  const held = reserved > 0 ? ` and ${show(reserved)} held for calls under way` : "";
  const more = most === undefined || most === estimate ? "" : `, and at most ${show(most)}`;
  const call =
    estimate === undefined
      ? "nobody knows what this call would cost"
      : `this call is estimated at ${show(estimate)}${more}`;
  const after = passes
    ? "What those calls do not cost is free again when they are over."
    : resets
      ? `It begins anew at ${resets}.`
      : "It does not begin anew by itself.";
  return new GatewayError(
    "over_budget",
    // The first words are OpenAI's: there are clients that look for them.
    `You exceeded your current quota: of the ${words[period]} of the ${scope} "${name}", ${show(limit)}, ${show(spent)} are spent${held}, and ${call}. ${after}`,
    {
      ...(passes && { as: { retry: "later" } }),
      // Nobody waits for a month.
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

export const priceUnknown = ({ scope, name }: Budgeted): GatewayError =>
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
