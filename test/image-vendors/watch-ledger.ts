/** Reads the new rows of a gateway's ledger after each of thousands of requests. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { outboxRows } from "../harness.ts";

export type WatchedRow = Pick<
  LedgerRow,
  "requestId" | "model" | "attempts" | "status" | "error" | "images" | "steps"
>;

interface LedgerWatch {
  /** The rows of these models or requests since `from` (Unix milliseconds), oldest first. */
  rows(filter: RowFilter): WatchedRow[];
  close(): void;
}

interface RowFilter {
  readonly from: number;
  readonly models: readonly string[];
  /** A request that was refused before its model was resolved has only its id. */
  readonly requestIds: readonly string[];
}

export function watchLedger(folder: string): LedgerWatch {
  const database = new Database(join(folder, "ledger.db"), { readonly: true });
  const newest = database.query<WatchedRow, [string, string, string]>(
    `SELECT request_id AS requestId, model, attempts, status, error, images, steps
       FROM ledger WHERE request_id >= ?1
       AND (model IN (SELECT value FROM json_each(?2))
         OR request_id IN (SELECT value FROM json_each(?3)))`,
  );
  return {
    rows: ({ from, models, requestIds }) => {
      const first = earliestId(from);
      // The outbox first: rows move from there into the ledger.
      const pending = outboxRows(folder).filter(
        ({ requestId, model }) =>
          requestId >= first && (models.includes(model ?? "") || requestIds.includes(requestId)),
      );
      const stored = newest.all(first, JSON.stringify(models), JSON.stringify(requestIds));
      const rows = new Map<string, WatchedRow>();
      for (const row of [...pending, ...stored]) rows.set(row.requestId, row);
      return [...rows.values()].toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
    },
    close: () => database.close(),
  };
}

/** An id begins with the millisecond at which it was made. */
const earliestId = (at: number): string => `req_${at.toString(16).padStart(12, "0")}`;
