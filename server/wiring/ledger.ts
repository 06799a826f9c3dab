/** Puts together what rows go through: the journal, the ledger, its file, and what earlier processes have left behind. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Emit } from "../events/events.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { BudgetOwner } from "../lib/budget.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import { startIntegrityCheck } from "../storage/integrity-check.ts";
import { JournalRecovery } from "../storage/journal-recovery.ts";
import { LedgerFile, type LedgerRow } from "../storage/ledger-file.ts";
import { LedgerJournal } from "../storage/ledger-journal.ts";
import { OpenedFiles } from "../storage/opened-files.ts";
import { sumDollars } from "../storage/spend-table.ts";

export interface LedgerWiringOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface LedgerWiring {
  readonly ledger: Ledger;
  /** US dollars, rows on their way into the file included. `period`: such as 2026-11-15, 2026-11 or total. */
  spent(spender: BudgetOwner, period: string): number;
  close(): void;
}

const day = 86_400_000;
const pruneEveryMs = 60_000;
const verifyEveryMs = 1000;

export function wireLedger({ settings, log, emit, now }: LedgerWiringOptions): LedgerWiring {
  const { VEXEL_DATA: folder, VEXEL_LEDGER_DAYS: days, VEXEL_ON_LEDGER_ERROR: policy } = settings;
  const file = new LedgerFile({ folder, maxBytes: settings.VEXEL_LEDGER_MAX_BYTES });
  const earlier = new JournalRecovery(folder, file);
  if (earlier.unreadable > 0) log.error("ledger-rows-lost", { rows: earlier.unreadable });
  const journal = new LedgerJournal(folder, Bun.randomUUIDv7());
  const keys = join(folder, "vexel.db");
  const opened = new OpenedFiles(
    [folder, file.path, journal.path, keys, join(folder, "lock.db")],
    [{ path: `${file.path}-wal`, isIntact: () => file.hasLastRow() }],
  );
  /** The folder or a file of it was removed or replaced: nothing that is written stays. */
  let lost: string | undefined;
  /** Found inside of a file. The journal can be written, and the next start takes it up. */
  let damage: string | undefined;
  const verify = (): void => {
    const wasLost = lost !== undefined;
    lost = opened.problem();
    if (lost !== undefined && !wasLost) rescueRows(file, log);
    const problem = lost ?? damage;
    if (problem !== undefined) throw new Error(problem);
  };
  const ledger = new Ledger({
    file,
    journal: {
      append: (rows) => {
        if (lost !== undefined) throw new Error(lost);
        journal.append(rows);
      },
      clear: () => journal.clear(),
    },
    recovery: earlier,
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
  const pruning = setInterval(() => {
    if (days > 0) prune(file, now() - days * day, log);
    // Pruning may have made the room that they lacked.
    ledger.recoverEarlier();
  }, pruneEveryMs);
  const verifying = setInterval(() => ledger.verify(), verifyEveryMs);
  const integrity = startIntegrityCheck({
    paths: [file.path, ...(existsSync(keys) ? [keys] : [])],
    everyMs: settings.VEXEL_LEDGER_CHECK * 1000,
    onResult: (found) => {
      damage = found && `${found}. Put back a copy of it and restart the gateway.`;
      ledger.verify();
    },
    onFailure: (reason) => {
      if (lost === undefined) log.warn("ledger-check-failed", { reason });
    },
  });
  return {
    ledger,
    spent: (spender, period) =>
      file.spent(spender, period) +
      sumDollars([...earlier.rows, ...ledger.pendingRows], spender, period),
    close: () => {
      clearInterval(pruning);
      clearInterval(verifying);
      integrity.close();
      const { lost: unwritten } = ledger.close();
      if (lost !== undefined) saveRows(ledger.pendingRows, { folder, reason: lost, log });
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
 * A write-ahead log that was removed is still open: its rows go into the database file while they can. The database may
 * be what was removed or damaged, so that this fails.
 */
function rescueRows(file: LedgerFile, log: Log): void {
  try {
    file.checkpoint();
  } catch (error) {
    log.warn("ledger-not-checkpointed", { reason: reasonOf(error) });
  }
}

/** In small bites: it happens on the thread that serves. */
function prune(file: LedgerFile, before: number, log: Log): void {
  try {
    file.prune(before, 1000);
  } catch (error) {
    // Locked or full: the ledger's own writes tell of it as well, and there is a next time.
    log.warn("ledger-not-pruned", { reason: reasonOf(error) });
  }
}

/** Where a new folder took the place of the one that is gone, its next gateway takes up the rows as a journal. */
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
