/**
 * Ledger queries for the admin API: a query that cannot run now fails with an error that names the fix, not with an
 * internal error.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { LedgerQueries } from "../../storage/ports/ledger-queries.ts";

export type ReadableQueries = Pick<LedgerQueries, "list" | "usage">;

export const readableQueries = (queries: ReadableQueries): ReadableQueries => ({
  list: (query) => queries.list(query).catch(fail),
  usage: (query) => queries.usage(query).catch(fail),
});

function fail(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause);
  throw new GatewayError("ledger_unavailable", message, { retryAfterMs: 1000, cause });
}
