/** Opens budgets: counters, reservations, and threshold events. */

import type { Emit } from "../../contract/events.ts";
import type { OpenedLedger } from "../ledger/open-ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import type { SpendKey } from "../storage/ports/ledger-store.ts";
import { BudgetCounters } from "./budget-counters.ts";
import { createBudgets } from "./budgets.ts";
import { createRequestCharging, type RequestChargingOptions } from "./charge-request.ts";

interface OpenBudgetsOptions
  extends Pick<RequestChargingOptions, "planImageQuery" | "inFlight">,
    Pick<OpenedLedger, "spend" | "loadEndUsersAndTags" | "isAfterKill"> {
  /** Of replicas that share their ledger and Redis. Undefined if each process counts for itself. */
  readonly shared: SharedLimiter | undefined;
  readonly emit: Emit;
}

export function openBudgets(options: OpenBudgetsOptions) {
  const { spend, loadEndUsersAndTags, isAfterKill, shared: limiter, emit } = options;
  const readable = {
    of: (key: SpendKey) => {
      try {
        return spend.of(key);
      } catch (cause) {
        // Without the sum in the ledger, it is unknown whether the budget is used up.
        throw new GatewayError(
          "ledger_unavailable",
          "The gateway cannot read the spending of a budget from its ledger. Ask the operator of this gateway to check the disk of VEXEL_DATA.",
          { retryAfterMs: 5000, cause, logDetail: String(cause) },
        );
      }
    },
    release: spend.release.bind(spend),
  };
  const counters = new BudgetCounters({
    spend: readable,
    loadEndUsersAndTags,
    limiter,
    isAfterKill,
  });
  if (limiter) {
    // What an earlier process on the data folder has left counts from the first renewal on.
    counters.report(spend.owners);
    limiter.renew();
  }
  const budgets = createBudgets({ counters, emit });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      planImageQuery: options.planImageQuery,
      inFlight: options.inFlight,
      shared: limiter,
    }),
  };
}
