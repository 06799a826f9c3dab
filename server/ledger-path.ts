/** Puts together what rows go through: the journal, the ledger, its file, and what earlier processes have left behind. */
import type { Emit } from "./control/events.ts";
import type { Log } from "./observe/log.ts";
import type { Settings } from "./settings.ts";
import type { Spender } from "./std/budget.ts";
import { EarlierRows } from "./store/ledger-earlier.ts";
import { LedgerFile } from "./store/ledger-file.ts";
import { LedgerJournal } from "./store/ledger-journal.ts";
import { dollarsIn } from "./store/spent-table.ts";
import { Ledger } from "./usage/ledger.ts";

export interface LedgerPathOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface LedgerPath {
  readonly ledger: Ledger;
  /** US dollars, rows on their way into the file included. `period`: such as 2026-11-15, 2026-11 or total. */
  spent(spender: Spender, period: string): number;
  close(): void;
}

const day = 86_400_000;
const pruneEveryMs = 60_000;

export function createLedgerPath({ settings, log, emit, now }: LedgerPathOptions): LedgerPath {
  const { VEXEL_DATA: folder, VEXEL_LEDGER_DAYS: days, VEXEL_LEDGER_FAULT: policy } = settings;
  const file = new LedgerFile({ folder, maxBytes: settings.VEXEL_LEDGER_MAX_BYTES });
  const earlier = new EarlierRows(folder, file);
  if (earlier.unreadable > 0) log.error("ledger-rows-lost", { rows: earlier.unreadable });
  const journal = new LedgerJournal(folder, Bun.randomUUIDv7());
  const ledger = new Ledger({
    file,
    journal,
    earlier,
    onFault: policy,
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
    ledger.bringInEarlier();
  }, pruneEveryMs);
  return {
    ledger,
    spent: (spender, period) =>
      file.spent(spender, period) +
      dollarsIn([...earlier.rows, ...ledger.underWay], spender, period),
    close: () => {
      clearInterval(pruning);
      const { lost } = ledger.close();
      if (lost > 0) log.error("ledger-rows-lost", { rows: lost });
      journal.close();
      file.close();
    },
  };
}

/** In small bites: it happens on the thread that serves. */
function prune(file: LedgerFile, before: number, log: Log): void {
  try {
    file.prune(before, 1000);
  } catch (error) {
    // Locked or full: the ledger's own writes tell of it as well, and there is a next time.
    log.warn("ledger-not-pruned", {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}
