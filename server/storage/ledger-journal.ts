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
import { fromValues, valuesOf } from "./ledger-file.ts";
import type { LedgerRow } from "./ledger-row.ts";

const name = /^ledger-\d+-[\w-]+\.journal$/;

/** Of this process: its own number says nothing about which of them are still written. */
const ours = new Set<string>();

export class LedgerJournal {
  readonly path: string;
  readonly #file: number;
  #size = 0;

  /** `id` tells apart the journals of one process. */
  constructor(folder: string, id: string) {
    this.path = join(folder, `ledger-${process.pid}-${id}.journal`);
    this.#file = openSync(this.path, "ax", 0o600);
    ours.add(this.path);
  }

  /** Throws what the disk says; then nothing of the rows is left there. */
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

  /** What is still in it waits for the next start. */
  close(): void {
    closeSync(this.#file);
    ours.delete(this.path);
    // It may be gone already, with its folder.
    if (this.#size === 0) rmSync(this.path, { force: true });
  }
}

export interface OrphanedJournal {
  readonly rows: readonly LedgerRow[];
  /** Lines that cannot be read: a power cut may leave such. */
  readonly unreadable: number;
  /** Once the rows are elsewhere. */
  remove(): void;
}

/**
 * The journals of processes that are no more. The folder is locked, so they are all that are not our own; a process with
 * the same number may live and have nothing to do with it.
 */
export const orphanedJournals = (folder: string): OrphanedJournal[] =>
  journalsIn(folder)
    .filter((path) => !ours.has(path))
    .map((path) => ({ ...read(path), remove: () => unlinkSync(path) }));

/** All that is under way into the ledger. */
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
