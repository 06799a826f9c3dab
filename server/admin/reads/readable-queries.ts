/**
 * Ledger queries for the admin API: a query that cannot run now fails with an error that names the fix, not with an
 * internal error.
 */
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { LedgerQueries } from "../../storage/ports/ledger-queries.ts";

type ReadableQueries = Pick<LedgerQueries, "list" | "usage">;

export const readableQueries = (queries: ReadableQueries): ReadableQueries => ({
  list: (query) => queries.list(query).catch(fail),
  usage: (query) => queries.usage(query).catch(fail),
});

/** An error of the gateway, such as `storage_unavailable`, already names its fix. */
function fail(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause;
  const message = errorMessage(cause);
  throw new GatewayError("ledger_unavailable", message, { retryAfterMs: 1000, cause });
}
