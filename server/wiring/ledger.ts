/** Wires the ledger: journal, SQLite file, recovery of earlier journals, pruning and integrity checks. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Emit } from "../events/events.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { BudgetOwner } from "../lib/budget.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import { JournalRecovery } from "../storage/files/journal-recovery.ts";
import { LedgerJournal } from "../storage/files/ledger-journal.ts";
import { OpenedFiles } from "../storage/files/opened-files.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import { startIntegrityCheck } from "../storage/sqlite/integrity-check.ts";
import { LedgerFile } from "../storage/sqlite/ledger-store.ts";
import { sumDollars } from "../storage/sqlite/spend-table.ts";

export interface LedgerWiringOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface LedgerWiring {
  readonly ledger: Ledger;
  /** US dollars, including rows that are not in the file yet. `period`: such as 2026-11-15, 2026-11 or total. */
  spent(spender: BudgetOwner, period: string): number;
  close(): void;
}

const dayMs = 86_400_000;
const pruneEveryMs = 60_000;
const verifyEveryMs = 1000;

export function wireLedger({ settings, log, emit, now }: LedgerWiringOptions): LedgerWiring {
  const { VEXEL_DATA: folder, VEXEL_LEDGER_DAYS: days, VEXEL_ON_LEDGER_ERROR: policy } = settings;
  const file = new LedgerFile({ folder, maxBytes: settings.VEXEL_LEDGER_MAX_BYTES });
  const recovery = new JournalRecovery(folder, file);
  if (recovery.unreadable > 0) log.error("ledger-rows-lost", { rows: recovery.unreadable });
  const journal = new LedgerJournal(folder, Bun.randomUUIDv7());
  const keys = join(folder, "vexel.db");
  const opened = new OpenedFiles(
    [folder, file.path, journal.path, keys, join(folder, "lock.db")],
    [{ path: `${file.path}-wal`, isIntact: () => file.hasLastRow() }],
  );
  /** The folder or one of its files was removed or replaced: written rows would be lost. */
  let fileProblem: string | undefined;
  /** An integrity check found damage in a file. The journal can be written, and the next start recovers it. */
  let damage: string | undefined;
  const verify = (): void => {
    const wasLost = fileProblem !== undefined;
    fileProblem = opened.problem();
    if (fileProblem !== undefined && !wasLost) checkpointRows(file, log);
    const problem = fileProblem ?? damage;
    if (problem !== undefined) throw new Error(problem);
  };
  const ledger = new Ledger({
    file,
    journal: {
      append: (rows) => {
        if (fileProblem !== undefined) throw new Error(fileProblem);
        journal.append(rows);
      },
      clear: () => journal.clear(),
    },
    recovery: recovery,
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
  const pruneTimer = setInterval(() => {
    if (days > 0) prune(file, now() - days * dayMs, log);
    // Pruning may have freed the space that they need.
    ledger.recoverEarlier();
  }, pruneEveryMs);
  const verifyTimer = setInterval(() => ledger.verify(), verifyEveryMs);
  const integrity = startIntegrityCheck({
    paths: [file.path, ...(existsSync(keys) ? [keys] : [])],
    everyMs: settings.VEXEL_LEDGER_CHECK * 1000,
    onResult: (found) => {
      damage = found && `${found}. Restore a copy of it and restart the gateway.`;
      ledger.verify();
    },
    onFailure: (reason) => {
      if (fileProblem === undefined) log.warn("ledger-check-failed", { reason });
    },
  });
  return {
    ledger,
    spent: (spender, period) =>
      file.sumSpent(spender, period) +
      sumDollars([...recovery.rows, ...ledger.pendingRows], spender, period),
    close: () => {
      clearInterval(pruneTimer);
      clearInterval(verifyTimer);
      integrity.close();
      const { lost: unwritten } = ledger.close();
      if (fileProblem !== undefined)
        saveRows(ledger.pendingRows, { folder, reason: fileProblem, log });
      else if (unwritten > 0) log.error("ledger-rows-lost", { rows: unwritten });
      journal.close();
      try {
        file.close();
      } catch (error) {
        log.error("ledger-not-closed", { reason: reasonOf(error) });
      }
    },
  };
}

/**
 * A write-ahead log that was removed is still open: its rows are copied into the database file while that is possible.
 * It fails if the database file itself was removed or damaged.
 */
function checkpointRows(file: LedgerFile, log: Log): void {
  try {
    file.checkpoint();
  } catch (error) {
    log.warn("ledger-not-checkpointed", { reason: reasonOf(error) });
  }
}

/** In small steps, as it runs on the thread that serves requests. */
function prune(file: LedgerFile, before: number, log: Log): void {
  try {
    file.prune(before, 1000);
  } catch (error) {
    // The file is locked or the disk is full: the next write reports it, and pruning is retried.
    log.warn("ledger-not-pruned", { reason: reasonOf(error) });
  }
}

/** If the folder was replaced by a new one, the rows are saved there as a journal for its next gateway. */
function saveRows(
  rows: readonly LedgerRow[],
  { folder, reason, log }: { folder: string; reason: string; log: Log },
): void {
  if (rows.length === 0) return;
  try {
    const journal = new LedgerJournal(folder, Bun.randomUUIDv7());
    journal.append(rows);
    journal.close();
    log.warn("ledger-rows-saved", { rows: rows.length, path: journal.path });
  } catch {
    log.error("ledger-rows-lost", { rows: rows.length, reason });
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
