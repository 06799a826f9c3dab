/** Opens budgets: accounts, reservations, and threshold events. */

import type { Emit } from "../../contract/events.ts";
import type { OpenedLedger } from "../ledger/open-ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import type { SpendKey } from "../storage/ports/ledger-store.ts";
import { createBudgets } from "./budgets.ts";
import { createRequestCharging, type RequestChargingOptions } from "./charge-request.ts";
import { OwnerBudgets } from "./owner-budgets.ts";

interface OpenBudgetsOptions
  extends Pick<RequestChargingOptions, "planImageQuery" | "inFlight">,
    Pick<OpenedLedger, "accounts" | "loadEndUsersAndTags" | "isAfterKill"> {
  /** Of replicas that share their ledger and Redis. Undefined if each process counts for itself. */
  readonly shared: SharedLimiter | undefined;
  readonly emit: Emit;
}

export function openBudgets(options: OpenBudgetsOptions) {
  const { accounts, loadEndUsersAndTags, isAfterKill, shared, emit } = options;
  const readable = {
    of: (key: SpendKey) => {
      try {
        return accounts.of(key);
      } catch (cause) {
        // Without the sum in the ledger, it is unknown whether the budget is used up.
        throw new GatewayError(
          "ledger_unavailable",
          "The gateway cannot read the spending of a budget from its ledger. Ask the operator of this gateway to check the disk of VEXEL_DATA.",
          { retryAfterMs: 5000, cause, logDetail: String(cause) },
        );
      }
    },
    evictIdle: () => accounts.evictIdle(),
  };
  if (shared) {
    // What an earlier process on the data folder has left counts from the first renewal on.
    accounts.share(shared.accounts);
    shared.renew();
  }
  const owners = new OwnerBudgets({ accounts: readable, loadEndUsersAndTags, isAfterKill });
  const budgets = createBudgets({ owners, shared, emit });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      planImageQuery: options.planImageQuery,
      inFlight: options.inFlight,
      shared,
    }),
  };
}
