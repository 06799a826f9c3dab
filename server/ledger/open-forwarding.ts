/** Forwards ledger rows to the ledger that replicas share, and knows the spending of all replicas. */

import type { Emit } from "../../contract/events.ts";
import { type BudgetOwner, isLabelOwner } from "../../contract/limits-and-budgets.ts";
import { logReason } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { repeat, withTimeout } from "../lib/timers.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import type { LabelSpend } from "../storage/postgres/label-spend.ts";
import type { PostgresLedgerStore } from "../storage/postgres/ledger-store.ts";
import type { SharedSpend } from "../storage/postgres/shared-spend.ts";
import { chargedTo, type SpendKey, sumDollars } from "../storage/sql/spend-tally.ts";
import type { SqliteLedgerStore } from "../storage/sqlite/ledger-store.ts";
import { LedgerForwarder } from "./ledger-forwarder.ts";

interface ForwardingOptions {
  readonly store: SqliteLedgerStore;
  readonly shared: {
    readonly ledger: Pick<PostgresLedgerStore, "append" | "rollUp">;
    readonly spend: Pick<SharedSpend, "read" | "add" | "refresh">;
    readonly labelSpend: Pick<LabelSpend, "read" | "want" | "add" | "load">;
  };
  /** Rows that are not in `store` yet. */
  readonly pendingRows: () => readonly LedgerRow[];
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

const refreshEveryMs = 2000;
/** The longest wait for the sums of an end user or a tag. Then those that this replica has forwarded count. */
const maxLoadMs = 2000;
/**
 * Rows are rolled up once one of them has waited this long. The longer they wait, the more of them every query and
 * refresh reads; the sooner, the more often the same sums are changed.
 */
const rollUpAfterMs = 2000;
const rollUpEveryMs = 1000;

export type LedgerForwarding = ReturnType<typeof openForwarding>;

export function openForwarding(options: ForwardingOptions) {
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
        shared.labelSpend.add(rows);
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
    reportBacklog: (reason) => log.error("ledger-not-forwarded", { reason }),
    beforeBatch: () => shared.labelSpend.load(),
    onForwarded: async () => {
      if (clock() - refreshedAt < refreshEveryMs) return;
      await shared.spend.refresh();
      refreshedAt = clock();
    },
  });
  // Not by the forwarder: rows are rolled up also while it forwards a backlog.
  const stopRollUps = repeat(
    {
      everyMs: rollUpEveryMs,
      onFailure: (error) => log.warn("ledger-not-rolled-up", { reason: logReason(error) }),
    },
    () => shared.ledger.rollUp(rollUpAfterMs),
  );
  return {
    /** US dollars, of all replicas. Undefined: the database has not been read yet. */
    spent: (owner: BudgetOwner, period: string): number | undefined => {
      const spend = isLabelOwner(owner) ? shared.labelSpend : shared.spend;
      const known = spend.read(owner, period);
      if (known === undefined) return undefined;
      const pending = chargedTo(owner, period, pendingRows());
      return known + unforwarded.read(owner, period) + sumDollars(pending);
    },
    /** Reads the sums of end users and tags, for `spent`, if the database can be reached. Never rejects. */
    loadLabels: async (sums: readonly SpendKey[]): Promise<void> => {
      if (!forwarder.isReachable) return;
      shared.labelSpend.want(sums);
      await withTimeout(forwarder.run(), maxLoadMs);
    },
    /** The number of rows that the database does not have yet. */
    backlog: (): number => unforwarded.rows + pendingRows().length,
    isReachable: (): boolean => forwarder.isReachable,
    close: async (): Promise<void> => {
      await forwarder.close();
      await stopRollUps();
    },
  };
}
