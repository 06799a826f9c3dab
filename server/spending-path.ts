/** Puts together what keeps calls within budgets: what was spent, what is held, and whom it is told. */
import type { Emit } from "./control/events.ts";
import { createSpending, type Spending, type SpendingOptions } from "./gateway/spending.ts";
import type { LedgerPath } from "./ledger-path.ts";
import type { Log } from "./observe/log.ts";
import { GatewayError } from "./std/gateway-error.ts";
import { type Budgets, createBudgets } from "./usage/budgets/budgets.ts";

export interface SpendingPathOptions extends Pick<SpendingOptions, "traits"> {
  readonly spent: LedgerPath["spent"];
  readonly log: Log;
  readonly emit: Emit;
}

export interface SpendingPath {
  readonly budgets: Budgets;
  readonly spending: Spending;
}

export function createSpendingPath(options: SpendingPathOptions): SpendingPath {
  const { spent, traits, log, emit } = options;
  const budgets = createBudgets({
    spentBefore: (spender, period) => {
      try {
        return spent(spender, period);
      } catch (cause) {
        // Who cannot see what was spent cannot say that something is left.
        throw new GatewayError(
          "ledger_unavailable",
          "The gateway cannot read what was spent of a budget. Ask its operator to look at the disk under VEXEL_DATA.",
          { retryAfterMs: 5000, cause, logged: String(cause) },
        );
      }
    },
    emit: (told) => {
      log.warn("budget-threshold", { ...told.data });
      emit(told);
    },
  });
  return { budgets, spending: createSpending({ budgets, traits }) };
}
