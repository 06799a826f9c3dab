/**
 * Opens the ledger: outbox, recovery of earlier outboxes, and the store of the rows. Without a shared database it is a
 * SQLite file with its retention; with one, the rows wait in a backlog until they are forwarded.
 */
import { join } from "node:path";
import type { Emit } from "../../contract/events.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import { dayMs, repeat } from "../lib/timers.ts";
import { OpenedFiles } from "../storage/files/opened-files.ts";
import { OutboxFile } from "../storage/files/outbox.ts";
import { OutboxRecovery } from "../storage/files/outbox-recovery.ts";
import type { LedgerQueries } from "../storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import type { LedgerStore, SpentSum } from "../storage/ports/ledger-store.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import { pruneInSteps } from "../storage/prune-in-steps.ts";
import { LedgerBacklog } from "../storage/sqlite/ledger-backlog.ts";
import { LedgerQueryThread } from "../storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../storage/sqlite/ledger-store.ts";
import { Accounts } from "./accounts.ts";
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
  /** The ledger that replicas share. Undefined if the ledger is in the data folder only. */
  readonly shared:
    | Pick<SharedStorage, "ledger" | "exports" | "queries" | "spend" | "now">
    | undefined;
  /** Where the rows of `shared` are exported, and how many of them. Undefined if they are not. */
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
  /** The log of requests that were sent: if this process is killed, the next one writes their rows. */
  readonly inFlight: Pick<OutboxFile, "begin" | "flush" | "release">;
  /** Lists of rows and usage, for operators. */
  readonly queries: LedgerQueries;
  /** What budget owners have spent and reserved. */
  readonly accounts: Accounts;
  /** Reads what end users and tags have spent, before `accounts` is asked. Undefined if it is in the data folder. */
  readonly loadEndUsersAndTags: LedgerForwarding["loadEndUsersAndTags"] | undefined;
  /** An earlier process on the data folder ended without closing its outbox. */
  readonly isAfterKill: boolean;
  /** Undefined if the ledger is in the data folder only. */
  readonly forwarding: { backlog(): number; isReachable(): boolean } | undefined;
}

const pruneEveryMs = 60_000;
const verifyEveryMs = 1000;

export function openLedger(options: LedgerOptions): OpenedLedger {
  const { folder, onError: policy, shared, log, emit } = options;
  const {
    rows: store,
    accounts,
    queries,
    onStored,
    forwarding,
    retention,
  } = shared ? openShared(options, shared) : openLocal(options);
  const recovery = new OutboxRecovery(folder, {
    append: async (recovered) => {
      const sums = await store.append(recovered);
      onStored?.(recovered, sums);
    },
  });
  const isAfterKill = !recovery.isDone;
  for (const row of recovery.rows) accounts.end(row);
  if (recovery.interrupted > 0) log.warn("in-flight-recovered", { requests: recovery.interrupted });
  for (const { path, records } of recovery.damaged) log.error("outbox-damaged", { records, path });
  if (recovery.torn > 0) log.info("outbox-torn", { outboxes: recovery.torn });
  const logUnwritable = logOnce((reason) => log.error("in-flight-unwritable", { reason }));
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
    onEnded: (row) => accounts.end(row),
    ...(onStored && { onStored }),
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
  const stopExport =
    shared && options.exportTo
      ? startLedgerExport({ ...options.exportTo, exports: shared.exports, now: options.now, log })
      : undefined;
  const stopPruning = startPruning({ ...retention, days: options.days, log });
  const stopChecks = [
    // Pruning may have freed the space that the rows of earlier outboxes need.
    repeat({ everyMs: pruneEveryMs }, async () => ledger.recoverEarlier()),
    repeat({ everyMs: verifyEveryMs }, async () => ledger.verify()),
  ];
  options.resources.defer(async () => {
    for (const stop of [stopPruning, ...stopChecks]) void stop();
    const { lost: unwritten } = await ledger.close();
    // Rows in the outbox of a folder that was removed or replaced are recovered only from that folder.
    const lost = opened.problem === undefined ? unwritten : ledger.pendingCount;
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
    accounts,
    isAfterKill,
    loadEndUsersAndTags: forwarding?.loadEndUsersAndTags,
    forwarding: forwarding && {
      isReachable: forwarding.isReachable,
      backlog: () => forwarding.backlog.size + recovery.rows.length + ledger.pendingCount,
    },
    inFlight: {
      // The log is needed only after a kill, so a disk error does not fail the request.
      begin: (request) => outbox.begin(request),
      flush: () => logUnwritable.run(() => outbox.flush()),
      release: (requestId) => logUnwritable.run(() => outbox.release(requestId)),
    },
  };
}

/** The file that the rows of the outbox go to. */
interface RowFile {
  readonly path: string;
  append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]>;
  checkpoint(): void;
  close(): Promise<void>;
}

interface OpenedRows {
  readonly rows: RowFile;
  /** If undefined, rows that have left the outbox are not in the ledger's database yet. */
  readonly onStored?: (rows: readonly LedgerRow[], sums: readonly SpentSum[]) => void;
  readonly accounts: Accounts;
  readonly queries: LedgerQueries;
  readonly forwarding?: LedgerForwarding;
  readonly retention: Pick<PruneOptions, "store" | "now">;
}

/** The ledger is in the data folder. */
function openLocal({ folder, maxBytes, now, clock }: LedgerOptions): OpenedRows {
  const file = new SqliteLedgerStore({ folder, maxBytes, now: now() });
  const accounts = new Accounts({ readSpent: (key) => file.readSpent(key), clock });
  return {
    rows: file,
    onStored: (rows, sums) => accounts.store(rows, sums),
    accounts,
    queries: new LedgerQueryThread({ path: file.path }),
    retention: { store: file, now },
  };
}

/** The ledger is in the database that replicas share. */
function openShared(
  options: LedgerOptions,
  shared: NonNullable<LedgerOptions["shared"]>,
): OpenedRows {
  const { folder, maxBytes, now, exportTo } = options;
  const backlog = new LedgerBacklog({ folder, maxBytes, now: now() });
  const forwarding = openForwarding({ ...options, backlog, shared });
  return {
    rows: backlog,
    accounts: forwarding.accounts,
    queries: shared.queries,
    forwarding,
    retention: { store: exportTo ? pruneExported(shared) : shared.ledger, now },
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
function checkpointRows(store: RowFile, log: Log): void {
  try {
    store.checkpoint();
  } catch (error) {
    log.warn("ledger-not-checkpointed", { reason: errorMessage(error) });
  }
}

interface PruneOptions {
  readonly store: Pick<LedgerStore, "prune">;
  /** Unix milliseconds. The ledger of the database has the clock of the database. */
  readonly now: () => number;
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
    const before = now() - days * dayMs;
    await pruneInSteps(signal, (limit) => store.prune(before, limit));
  });
}
