/**
 * Reads the journals of versions before the outbox: lines of JSON, ledger rows and reservations in files of their own.
 */
import { fromValues } from "../ledger-row-values.ts";
import { isCompleteRow, type LedgerRow } from "../ports/ledger-row.ts";
import type { ReservedRequest } from "../ports/outbox.ts";
import { type OutboxContent, reservedOf } from "./outbox-records.ts";

const ledgerJournal = /^ledger-\d+-[\w-]+\.journal$/;
/** The first versions named these files `held-…`. */
const reservationJournal = /^(?:reservations|held)-\d+-[\w-]+\.journal$/;

export const isEarlierJournal = (name: string): boolean =>
  ledgerJournal.test(name) || reservationJournal.test(name);

export const readEarlierJournal = (name: string, text: string): OutboxContent =>
  ledgerJournal.test(name) ? readRows(text) : readReservations(text);

function readRows(text: string): OutboxContent {
  const rows: LedgerRow[] = [];
  const unreadable = readLines(text, (line) => {
    const found = rowsOf(line);
    const complete = found.filter(isCompleteRow);
    rows.push(...complete);
    return found.length - complete.length;
  });
  return { rows, reserved: [], unreadable };
}

/** Requests with a begin line and no end line. */
function readReservations(text: string): OutboxContent {
  const open = new Map<string, ReservedRequest>();
  const unreadable = readLines(text, (line) => {
    const parsed = line as Parameters<typeof reservedOf>[0] | { readonly ended: string };
    if ("ended" in parsed) open.delete(parsed.ended);
    else open.set(parsed[0], reservedOf(parsed));
    return 0;
  });
  return { rows: [], reserved: [...open.values()], unreadable };
}

/** `read` returns the number of unreadable entries of a line. Returns the sum, with lines that cannot be parsed. */
function readLines(text: string, read: (line: unknown) => number): number {
  let unreadable = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      unreadable += read(JSON.parse(line));
    } catch {
      unreadable++;
    }
  }
  return unreadable;
}

/**
 * A line is the rows of one write, as lists of values. The first versions wrote one row per line, with the names of its
 * values.
 */
const rowsOf = (line: unknown): LedgerRow[] =>
  Array.isArray(line)
    ? line.map((row) => (Array.isArray(row) ? fromValues(row) : withPresentNames(row)))
    : [withPresentNames(line as NamedRow)];

/** A row of an earlier version, in which three values had other names. */
interface NamedRow extends LedgerRow {
  readonly fault?: string | null;
  readonly knownInputs?: number | null;
  readonly estimate?: number | null;
}

function withPresentNames(named: NamedRow): LedgerRow {
  const { fault, knownInputs, estimate, ...row } = named ?? {};
  return {
    ...row,
    error: row.error ?? fault ?? null,
    cachedInputs: row.cachedInputs ?? knownInputs ?? null,
    estimatedCost: row.estimatedCost ?? estimate ?? null,
  };
}
