/**
 * Recovery of the write-ahead journal after a crash or kill -9: moves the rows that earlier processes journaled into
 * the ledger, at startup or, if the disk was full then, once it is not. Until then they count as spent.
 */

import type { LedgerRow } from "../ports/ledger-row.ts";
import { type OrphanedJournal, orphanedJournals } from "./ledger-journal.ts";

/** In small steps, as it runs on the thread that serves requests; a disk that is still full is noticed by the first. */
const chunkRows = 500;

export class JournalRecovery {
  readonly #file: { write(rows: readonly LedgerRow[]): void };
  #journals: (Pick<OrphanedJournal, "remove"> & { rows: readonly LedgerRow[] })[];
  /** Lines that cannot be parsed. */
  readonly unreadable: number;

  constructor(folder: string, file: { write(rows: readonly LedgerRow[]): void }) {
    this.#file = file;
    const found = orphanedJournals(folder);
    this.#journals = found.map(({ rows, remove }) => ({ rows, remove }));
    this.unreadable = found.reduce((sum, { unreadable }) => sum + unreadable, 0);
  }

  /** Rows that are not in the ledger yet. */
  get rows(): readonly LedgerRow[] {
    return this.#journals.flatMap(({ rows }) => rows);
  }

  get isDone(): boolean {
    return this.#journals.length === 0;
  }

  /** Moves as many rows as the disk can store. A journal is removed once all of its rows are stored. Throws the disk's error. */
  recover(): void {
    for (let first = this.#journals[0]; first; first = this.#journals[0]) {
      while (first.rows.length > 0) {
        this.#file.write(first.rows.slice(0, chunkRows));
        first.rows = first.rows.slice(chunkRows);
      }
      first.remove();
      this.#journals.shift();
    }
  }
}
