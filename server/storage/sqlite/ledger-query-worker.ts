/** Worker thread of the ledger queries: one read-only connection. See `ledger-query-thread.ts`. */
import { Database } from "bun:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { errorMessage } from "../../lib/error-code.ts";
import type { LedgerListQuery, UsageQuery } from "../ports/ledger-queries.ts";
import { listRows } from "./list-rows.ts";
import { readUsage } from "./read-ledger.ts";

export type LedgerQueryRequest =
  | { readonly list: LedgerListQuery }
  | { readonly usage: UsageQuery };

export type LedgerQueryResponse = { readonly value: unknown } | { readonly error: string };

/** A reader in WAL mode waits for a writer only while SQLite resets the write-ahead log. */
const busyMs = 5000;

/** The time limit of a page allows for a busy machine: a list should take at most 300 ms. */
const listClock = { clock: () => performance.now(), pageMs: 150 };

let db: Database | undefined;

function run(request: LedgerQueryRequest): unknown {
  if (!db) {
    db = new Database(String(workerData), { readonly: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${busyMs}`);
  }
  return "list" in request ? listRows(db, request.list, listClock) : readUsage(db, request.usage);
}

parentPort?.on("message", (request: LedgerQueryRequest) => {
  let response: LedgerQueryResponse;
  try {
    response = { value: run(request) };
  } catch (error) {
    response = { error: errorMessage(error) };
  }
  parentPort?.postMessage(response);
});
