/** Reads the new rows of a gateway's ledger after each of thousands of requests. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { outboxRows } from "../../server/storage/files/outbox-recovery.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";

export type WatchedRow = Pick<
  LedgerRow,
  "requestId" | "model" | "attempts" | "status" | "error" | "images" | "steps"
>;

export interface LedgerWatch {
  /** The rows of requests since `from` (Unix milliseconds), oldest first. */
  rows(from: number): WatchedRow[];
  close(): void;
}

export function watchLedger(folder: string): LedgerWatch {
  const database = new Database(join(folder, "ledger.db"), { readonly: true });
  const newest = database.query<WatchedRow, [string]>(
    `SELECT request_id AS requestId, model, attempts, status, error, images, steps
       FROM ledger WHERE request_id >= ?1 ORDER BY request_id`,
  );
  return {
    rows: (from) => {
      const first = earliestId(from);
      // The outbox first: rows move from there into the ledger.
      const pending = outboxRows(folder).filter(({ requestId }) => requestId >= first);
      const rows = new Map<string, WatchedRow>();
      for (const row of [...pending, ...newest.all(first)]) rows.set(row.requestId, row);
      return [...rows.values()].toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
    },
    close: () => database.close(),
  };
}

/** An id begins with the millisecond at which it was made. */
const earliestId = (at: number): string => `req_${at.toString(16).padStart(12, "0")}`;
