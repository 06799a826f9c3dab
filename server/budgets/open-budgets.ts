/** Opens budgets: counters, reservations, and threshold events. */

import type { Emit } from "../../contract/events.ts";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import type { OpenedLedger } from "../ledger/open-ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import { BudgetCounters } from "./budget-counters.ts";
import { createBudgets } from "./budgets.ts";
import { createRequestCharging, type RequestChargingOptions } from "./charge-request.ts";
import { SharedBudgetCounters } from "./shared-budget-counters.ts";

interface OpenBudgetsOptions
  extends Pick<RequestChargingOptions, "planImageQuery" | "reservations">,
    Pick<OpenedLedger, "spent" | "loadLabels"> {
  /** The budgets that replicas share. Undefined: each process counts for itself. */
  readonly shared: SharedLimiter | undefined;
  readonly emit: Emit;
}

export function openBudgets(options: OpenBudgetsOptions) {
  const { spent, loadLabels, shared, emit } = options;
  const spentBefore = (owner: BudgetOwner, period: string): number => {
    try {
      return spent(owner, period);
    } catch (cause) {
      // Without the sum in the ledger, it is unknown whether the budget is used up.
      throw new GatewayError(
        "ledger_unavailable",
        "The gateway cannot read the spending of a budget from its ledger. Ask the operator of this gateway to check the disk of VEXEL_DATA.",
        { retryAfterMs: 5000, cause, logDetail: String(cause) },
      );
    }
  };
  const counters = shared
    ? new SharedBudgetCounters(shared, { spentBefore, loadLabels })
    : new BudgetCounters({ spentBefore, loadLabels });
  const budgets = createBudgets({ counters, emit });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      planImageQuery: options.planImageQuery,
      reservations: options.reservations,
      shared,
    }),
  };
}
