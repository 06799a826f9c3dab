/**
 * Write-ahead journal of the ledger. Each row is appended when its request ends, which takes two microseconds and survives
 * the death of the process; shortly after, many rows go into SQLite in one transaction. The journal of a killed process is
 * recovered by the next one.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fromValues, valuesOf } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";

const name = /^ledger-\d+-[\w-]+\.journal$/;

/** Journals of this process. A process id does not say which journals are still being written: ids repeat. */
const ownPaths = new Set<string>();

export class LedgerJournal {
  readonly path: string;
  readonly #file: number;
  #size = 0;

  /** `id` distinguishes the journals of one process. */
  constructor(folder: string, id: string) {
    this.path = join(folder, `ledger-${process.pid}-${id}.journal`);
    this.#file = openSync(this.path, "ax", 0o600);
    ownPaths.add(this.path);
  }

  /** Throws the file system error; then none of the rows is in the journal. */
  append(rows: readonly LedgerRow[]): void {
    const line = `${JSON.stringify(rows.map(valuesOf))}\n`;
    const length = Buffer.byteLength(line);
    try {
      if (writeSync(this.#file, line) !== length) throw new Error("the disk is full");
      this.#size += length;
    } catch (error) {
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
  }

  /** The rows are in the ledger. */
  clear(): void {
    ftruncateSync(this.#file, 0);
    this.#size = 0;
  }

  /** Rows that are still in it are recovered by the next start. */
  close(): void {
    closeSync(this.#file);
    ownPaths.delete(this.path);
    // The file may be gone already, with its folder.
    if (this.#size === 0) rmSync(this.path, { force: true });
  }
}

export interface OrphanedJournal {
  readonly rows: readonly LedgerRow[];
  /** Lines that cannot be parsed, as a power failure may leave. */
  readonly unreadable: number;
  /** Called once the rows are stored elsewhere. */
  remove(): void;
}

/**
 * The journals of earlier processes. The folder is locked, so these are all journals except those of this process. Another
 * process may have the same id.
 */
export const orphanedJournals = (folder: string): OrphanedJournal[] =>
  journalsIn(folder)
    .filter((path) => !ownPaths.has(path))
    .map((path) => ({ ...read(path), remove: () => unlinkSync(path) }));

/** All rows that are in a journal and not yet in the ledger. */
export const journaledRows = (folder: string): LedgerRow[] =>
  journalsIn(folder).flatMap((path) => read(path).rows);

const journalsIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((entry) => name.test(entry))
    .map((entry) => join(folder, entry));

function read(path: string): Pick<OrphanedJournal, "rows" | "unreadable"> {
  const rows: LedgerRow[] = [];
  let unreadable = 0;
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (line === "") continue;
    try {
      for (const row of rowsOf(JSON.parse(line))) {
        if (isComplete(row)) rows.push(row);
        else unreadable++;
      }
    } catch {
      unreadable++;
    }
  }
  return { rows, unreadable };
}

/**
 * A line is the rows of one write, as lists of values. Journals of earlier versions, and those made from the reservation
 * log, have one row per line, with the names of its values.
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

/** A row that the ledger cannot store would keep all later rows out of it forever. */
const isComplete = (row: LedgerRow | null): boolean =>
  [row?.requestId, row?.endpoint, row?.keyId].every((each) => typeof each === "string") &&
  [row?.at, row?.attempts, row?.status, row?.latencyMs, row?.bytesIn, row?.bytesOut].every(
    (each) => typeof each === "number",
  );
