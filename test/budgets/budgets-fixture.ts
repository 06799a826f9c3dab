/** Budgets without a gateway: earlier spending comes from a map, and emitted events go to a list. */

import type { Budget, BudgetedOwner, BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { createBudgets, type Estimate, type ThresholdEvent } from "../../server/budgets/budgets.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";

export const noon = Date.UTC(2026, 10, 15, 12);
export const dayMs = 86_400_000;

export const budgeted = (
  budget: Partial<Budget>,
  scope: BudgetedOwner["scope"] = "key",
  name = "ci",
): BudgetedOwner => ({ scope, id: name, name, budget: { unknownPrice: "allow", ...budget } });

export const certain = (dollars: number): Estimate => ({ dollars, isCertain: true });
export const unknownCost: Estimate = { dollars: undefined, isCertain: false };

export function createTestBudgets(before: Readonly<Record<string, number>> = {}) {
  const events: ThresholdEvent[] = [];
  const read: string[] = [];
  const counters = new BudgetCounters({
    spentBefore: ({ scope, id }: BudgetOwner, period) => {
      read.push(`${scope} ${id} ${period}`);
      return before[`${scope} ${id} ${period}`] ?? 0;
    },
  });
  const budgets = createBudgets({ counters, emit: (event) => events.push(event) });
  return { budgets, events, read };
}

/** The error of a reservation that must be refused. */
export function refusal(reserve: () => unknown): GatewayError {
  try {
    reserve();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("the reservation was not refused");
}
