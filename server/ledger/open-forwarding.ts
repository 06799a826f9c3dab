/** Forwards ledger rows to the ledger that replicas share, and reads what all replicas have spent. */

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Emit } from "../../contract/events.ts";
import { isEndUserOrTag } from "../../contract/limits-and-budgets.ts";
import { logReason } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { repeat, withTimeout } from "../lib/timers.ts";
import type { SpendKey } from "../storage/ports/ledger-store.ts";
import type { PostgresLedgerStore } from "../storage/postgres/ledger-store.ts";
import type { SharedSpend } from "../storage/postgres/shared-spend.ts";
import type { LedgerBacklog } from "../storage/sqlite/ledger-backlog.ts";
import { Accounts } from "./accounts.ts";
import { LedgerForwarder } from "./ledger-forwarder.ts";

interface ForwardingOptions {
  /** The data folder. */
  readonly folder: string;
  readonly backlog: Pick<
    LedgerBacklog,
    "oldest" | "remove" | "earlier" | "onIgnored" | "size" | "readSpent"
  >;
  readonly shared: {
    readonly ledger: Pick<PostgresLedgerStore, "append" | "rollUp">;
    readonly spend: Pick<SharedSpend, "isRead" | "read" | "raise" | "refresh" | "readNamed">;
  };
  readonly log: Pick<Log, "warn" | "error">;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Runs work at an interval. */
  readonly repeat?: typeof repeat;
}

const refreshEveryMs = 2000;
/** The sums of end users and tags are read again for this long after a request needed them. */
const readNamedMs = 60_000;
/** The longest wait for the sums of an end user or a tag. Then those that this replica knows count. */
const maxLoadMs = 2000;
/**
 * Rows are rolled up once one of them has waited this long. The longer they wait, the more of them every query reads;
 * the sooner, the more often the same sums are changed.
 */
const rollUpAfterMs = 2000;
const rollUpEveryMs = 1000;

export type LedgerForwarding = ReturnType<typeof openForwarding>;

export function openForwarding(options: ForwardingOptions) {
  const { folder, backlog, shared, log, emit, clock, repeat: every = repeat } = options;
  const accounts = new Accounts({
    readSpent: (key) =>
      shared.spend.isRead && !isEndUserOrTag(key) ? shared.spend.read(key) : undefined,
    startAt: (key) => backlog.readSpent(key),
    clock,
  });
  for (const rows of backlog.earlier) accounts.end(rows);
  // Its amount was added twice: for the row in the backlog, and for this one.
  backlog.onIgnored = (row) => accounts.drop(row);
  const rejectedPath = join(folder, "ledger-rejected.jsonl");
  let refreshedAt = Number.NEGATIVE_INFINITY;

  /** Reads the sums that have changed. A dead replica's rows count, too. */
  const refresh = async (): Promise<void> => {
    const used: SpendKey[] = [];
    for (const account of accounts) {
      if (!isEndUserOrTag(account)) continue;
      if (clock() - account.usedAt < readNamedMs) used.push(account);
      else account.isRead = false;
    }
    accounts.raise(await shared.spend.refresh());
    accounts.raise(await shared.spend.readNamed(used));
    refreshedAt = clock();
  };
  const forwarder = new LedgerForwarder({
    backlog,
    store: {
      append: async (rows) => {
        const sums = await shared.ledger.append(rows);
        shared.spend.raise(sums);
        accounts.store(rows, sums);
        return sums;
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
    setAside: (row, reason) => {
      appendFileSync(rejectedPath, `${JSON.stringify({ reason, row })}\n`, { mode: 0o600 });
      accounts.drop(row);
      log.error("ledger-row-rejected", { requestId: row.requestId, reason, path: rejectedPath });
    },
    repeat: every,
    reportBacklog: (reason) => log.error("ledger-not-forwarded", { reason }),
    // Never while rows are forwarded: a sum that has them would count them twice.
    beforeBatch: async () => {
      if (clock() - refreshedAt >= refreshEveryMs) await refresh();
    },
  });
  // Not by the forwarder: rows are rolled up also while it forwards a backlog.
  const stopRollUps = every(
    {
      everyMs: rollUpEveryMs,
      onFailure: (error) => log.warn("ledger-not-rolled-up", { reason: logReason(error) }),
    },
    () => shared.ledger.rollUp(rollUpAfterMs),
  );
  return {
    accounts,
    backlog,
    /** Reads the sums of end users and tags, if the database can be reached. Never rejects. */
    loadEndUsersAndTags: async (keys: readonly SpendKey[]): Promise<void> => {
      if (!forwarder.isReachable) return;
      const read = async (): Promise<void> => accounts.raise(await shared.spend.readNamed(keys));
      await withTimeout(
        read().catch(() => undefined),
        maxLoadMs,
      );
    },
    isReachable: (): boolean => forwarder.isReachable,
    close: async (): Promise<void> => {
      await forwarder.close();
      await stopRollUps();
    },
  };
}
