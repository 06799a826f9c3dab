/** Forwards ledger rows to the ledger that replicas share, and knows the spending of all replicas. */

import type { Emit } from "../../contract/events.ts";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import type { Log } from "../lib/log.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import type { SqliteLedgerStore } from "../storage/sqlite/ledger-store.ts";
import { chargedTo, sumDollars } from "../storage/sqlite/spend-table.ts";
import { LedgerForwarder } from "./ledger-forwarder.ts";

interface ForwardingOptions {
  readonly store: SqliteLedgerStore;
  readonly shared: Pick<SharedStorage, "ledger" | "spend">;
  /** Rows that are not in `store` yet. */
  readonly pendingRows: () => readonly LedgerRow[];
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface LedgerForwarding {
  /** US dollars, of all replicas. Undefined: the database has not been read yet. */
  spent(owner: BudgetOwner, period: string): number | undefined;
  /** The number of rows that the database does not have yet. */
  backlog(): number;
  isReachable(): boolean;
  close(): Promise<void>;
}

const refreshEveryMs = 2000;

export function openForwarding(options: ForwardingOptions): LedgerForwarding {
  const { store, shared, pendingRows, log, emit, clock } = options;
  // Before the first request: this reads all rows that an earlier process has left.
  const unforwarded = store.sumUnforwarded();
  let refreshedAt = Number.NEGATIVE_INFINITY;
  const forwarder = new LedgerForwarder({
    backlog: store,
    store: {
      append: async (rows) => {
        await shared.ledger.append(rows);
        shared.spend.add(rows);
      },
    },
    report: ({ reachable, reason }) => {
      if (reachable) {
        log.warn("database-recovered", { reason });
        emit({ type: "database.recovered", data: { reason } });
      } else {
        log.error("database-unavailable", { reason });
        emit({ type: "database.unavailable", data: { reason } });
      }
    },
    reportRejected: ({ requestId }, reason) =>
      log.error("ledger-row-rejected", { requestId, reason }),
    onForwarded: async () => {
      if (clock() - refreshedAt < refreshEveryMs) return;
      await shared.spend.refresh();
      refreshedAt = clock();
    },
  });
  return {
    spent: (owner, period) => {
      const known = shared.spend.read(owner, period);
      if (known === undefined) return undefined;
      const pending = chargedTo(owner, period, pendingRows());
      return known + unforwarded.read(owner, period) + sumDollars(pending);
    },
    backlog: () => unforwarded.rows + pendingRows().length,
    isReachable: () => forwarder.isReachable,
    close: () => forwarder.close(),
  };
}
