/** Opens the ledger: outbox, SQLite store, recovery of earlier outboxes and retention of rows. */
import { join } from "node:path";
import type { Emit } from "../../contract/events.ts";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import { dayMs, repeat } from "../lib/timers.ts";
import { OpenedFiles } from "../storage/files/opened-files.ts";
import { OutboxFile } from "../storage/files/outbox.ts";
import { OutboxRecovery } from "../storage/files/outbox-recovery.ts";
import type { LedgerQueries } from "../storage/ports/ledger-queries.ts";
import type { LedgerStore } from "../storage/ports/ledger-store.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import { pruneInSteps } from "../storage/prune-in-steps.ts";
import { LedgerQueryThread } from "../storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../storage/sqlite/ledger-store.ts";
import { type ExportOptions, pruneExported, startLedgerExport } from "./export-ledger.ts";
import { Ledger } from "./ledger.ts";
import { type LedgerForwarding, openForwarding } from "./open-forwarding.ts";

interface LedgerOptions {
  /** The data folder. */
  readonly folder: string;
  readonly maxBytes: number;
  /** How long rows are kept. 0: for ever. */
  readonly days: number;
  /** While rows cannot be written: refuse requests, or serve them. */
  readonly onError: "refuse" | "serve";
  /** The ledger that replicas share. Undefined: the ledger is in the data folder only. */
  readonly shared:
    | Pick<SharedStorage, "ledger" | "exports" | "queries" | "spend" | "labelSpend" | "now">
    | undefined;
  /** Where the rows of `shared` are exported, and how many of them. Undefined: they are not. */
  readonly exportTo: Pick<ExportOptions, "objects" | "percent"> | undefined;
  readonly log: Log;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
}

export interface OpenedLedger {
  readonly ledger: Ledger;
  /** Requests with a budget reservation: charged by the next process if this one is killed. */
  readonly reservations: Pick<OutboxFile, "reserve" | "release">;
  /** Lists of rows and usage, for operators. */
  readonly queries: LedgerQueries;
  /** US dollars, including rows that are not in the store yet. `period`: such as 2026-11-15, 2026-11 or total. */
  spent(owner: BudgetOwner, period: string): number;
  /** To be called before `spent` of an end user or a tag. Undefined: the sums are in the data folder. */
  readonly loadLabels: LedgerForwarding["loadLabels"] | undefined;
  /** Undefined: the ledger is in the data folder only. */
  readonly forwarding: Pick<LedgerForwarding, "backlog" | "isReachable"> | undefined;
}

const pruneEveryMs = 60_000;
const verifyEveryMs = 1000;

export function openLedger(options: LedgerOptions): OpenedLedger {
  const { folder, maxBytes, days, onError: policy, shared, log, emit, now, clock } = options;
  const { exportTo } = options;
  const store = new SqliteLedgerStore({ folder, maxBytes, now: now() });
  const queries = shared?.queries ?? new LedgerQueryThread({ path: store.path });
  const recovery = new OutboxRecovery(folder, store);
  if (recovery.reservations > 0)
    log.warn("reservations-recovered", { requests: recovery.reservations });
  for (const { path, records } of recovery.damaged) log.error("outbox-damaged", { records, path });
  if (recovery.torn > 0) log.info("outbox-torn", { outboxes: recovery.torn });
  const logUnwritable = logOnce((reason) => log.error("reservations-unwritable", { reason }));
  // If the folder or one of its files is removed or replaced, written rows would be lost.
  const opened = new OpenedFiles(
    [folder, store.path, join(folder, "vexel.db"), join(folder, "lock.db")],
    [`${store.path}-wal`],
  );
  const outbox = new OutboxFile({
    folder,
    id: Bun.randomUUIDv7(),
    onError: logUnwritable.failed,
    opened,
  });
  const verify = (): void => {
    const wasLost = opened.problem !== undefined;
    const problem = opened.check();
    if (problem === undefined) return;
    if (!wasLost) checkpointRows(store, log);
    throw new Error(problem);
  };
  const ledger = new Ledger({
    store,
    outbox,
    recovery,
    verify,
    onError: policy,
    report: ({ writable, reason }) => {
      if (writable) {
        log.warn("ledger-recovered", { reason });
        emit({ type: "ledger.recovered", data: { reason } });
      } else {
        log.error("ledger-unwritable", { reason, policy });
        emit({ type: "ledger.unwritable", data: { reason, policy } });
      }
    },
  });
  const pendingRows = () => [...recovery.rows, ...ledger.pendingRows];
  const forwarding = shared && openForwarding({ store, shared, pendingRows, log, emit, clock });
  const stopExport =
    shared && exportTo
      ? startLedgerExport({ ...exportTo, exports: shared.exports, now: shared.now, log })
      : undefined;
  const stopPruning = [
    startPruning({ store, now, days, log }),
    ...(shared
      ? [
          startPruning({
            store: exportTo ? pruneExported(shared) : shared.ledger,
            now: shared.now,
            days,
            log,
          }),
        ]
      : []),
  ];
  const stopChecks = [
    // Pruning may have freed the space that the rows of earlier outboxes need.
    repeat({ everyMs: pruneEveryMs }, async () => ledger.recoverEarlier()),
    repeat({ everyMs: verifyEveryMs }, async () => ledger.verify()),
  ];
  options.resources.defer(async () => {
    for (const stop of [...stopPruning, ...stopChecks]) void stop();
    const { lost: unwritten } = await ledger.close();
    // Rows in the outbox of a folder that was removed or replaced are recovered only from that folder.
    const lost = opened.problem === undefined ? unwritten : ledger.pendingRows.length;
    if (lost > 0) log.error("ledger-rows-lost", { rows: lost });
    logUnwritable.run(() => outbox.close());
    await forwarding?.close();
    await stopExport?.();
    try {
      await queries.close();
      await store.close();
    } catch (error) {
      log.error("ledger-not-closed", { reason: errorMessage(error) });
    }
  });
  return {
    ledger,
    queries,
    forwarding,
    reservations: {
      // Reservations are needed only after a kill, so a disk error does not fail the request.
      reserve: (request, mayWait) => logUnwritable.run(() => outbox.reserve(request, mayWait)),
      release: (requestId) => logUnwritable.run(() => outbox.release(requestId)),
    },
    loadLabels: forwarding?.loadLabels,
    spent: (owner, period) =>
      forwarding?.spent(owner, period) ?? store.sumSpent(owner, period, pendingRows()),
  };
}

/** Logs the first of several failures in a row. */
function logOnce(write: (reason: string) => void) {
  let works = true;
  const failed = (error: unknown): void => {
    if (works) write(errorMessage(error));
    works = false;
  };
  const run = (action: () => void): void => {
    try {
      action();
      works = true;
    } catch (error) {
      failed(error);
    }
  };
  return { failed, run };
}

/**
 * Checkpoint of a write-ahead log that was removed but is still open: copies its rows into the database file. The
 * checkpoint fails if the database file itself was removed or damaged.
 */
function checkpointRows(store: SqliteLedgerStore, log: Log): void {
  try {
    store.checkpoint();
  } catch (error) {
    log.warn("ledger-not-checkpointed", { reason: errorMessage(error) });
  }
}

interface PruneOptions {
  readonly store: Pick<LedgerStore, "prune">;
  /** Unix milliseconds. The ledger of the database has the clock of the database. */
  readonly now: () => number | Promise<number>;
  /** 0: rows are kept forever. */
  readonly days: number;
  readonly log: Log;
}

function startPruning({ store, now, days, log }: PruneOptions): () => unknown {
  if (days === 0) return () => undefined;
  // The file is locked or the disk is full: the next write reports it, and pruning is retried.
  const onFailure = (error: unknown): void =>
    log.warn("ledger-not-pruned", { reason: errorMessage(error) });
  return repeat({ everyMs: pruneEveryMs, onFailure }, async (signal) => {
    const before = (await now()) - days * dayMs;
    await pruneInSteps(signal, (limit) => store.prune(before, limit));
  });
}
