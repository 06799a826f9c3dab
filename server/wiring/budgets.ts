/** Wires budgets: counters, reservations, and threshold events. */

import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { BudgetCounters } from "../budgets/budget-counters.ts";
import { BudgetQueue } from "../budgets/budget-queue.ts";
import { createBudgets } from "../budgets/budgets.ts";
import { createRequestCharging } from "../budgets/charge-request.ts";
import { LeasedBudgetCounters } from "../budgets/leased-budget-counters.ts";
import { tryPlanQuery } from "../images/plan/plan.ts";
import type { OpenedLedger } from "../ledger/open-ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { realTimers } from "../lib/timers.ts";
import type { SharedPools } from "../limits/leased-pool.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { Runtime } from "./runtime.ts";

interface BudgetWiringOptions extends Pick<OpenedLedger, "spent" | "reservations"> {
  readonly capabilities: UpstreamClient["imageCapabilities"];
  /** The budgets that replicas share. Undefined: each process counts for itself. */
  readonly pools: SharedPools | undefined;
}

export function wireBudgets(
  { settings, log, emit, clock }: Runtime,
  { spent, reservations, capabilities, pools }: BudgetWiringOptions,
) {
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
  const counters = pools
    ? new LeasedBudgetCounters(pools, { spentBefore })
    : new BudgetCounters({ spentBefore });
  const budgets = createBudgets({
    counters,
    emit: (event) => {
      log.warn("budget-threshold", { ...event.data });
      emit(event);
    },
  });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      planImageQuery: ({ operation, query, policy }, target) =>
        tryPlanQuery(query, capabilities(target, operation), policy),
      reservations,
      queue: new BudgetQueue({
        waitMs: settings.VEXEL_QUEUE_TIMEOUT * 1000,
        max: settings.VEXEL_MAX_QUEUE,
        timers: realTimers,
        clock,
      }),
    }),
  };
}
