/** Against double billing: decides whether an upstream may have done the work of a failed request, and may bill it. */
import { GatewayError } from "../lib/gateway-error.ts";

/** By the error alone: a request that was never sent, or that reached no such endpoint, is not billed. */
export function mayBeBilled({ definition: row, details }: GatewayError): boolean {
  if (details.notSent) return false;
  return details.mayBeBilled === true || (row.mayBeBilled === true && !details.notExecuted);
}

/** Marks an error of an upstream that had begun to work: it may bill, whatever the error table says. */
export const markMayBeBilled = (error: unknown): unknown =>
  error instanceof GatewayError
    ? new GatewayError(error.kind, error.message, { ...error.details, mayBeBilled: true })
    : error;

/** Errors of the gateway or the client, during which the upstream may have been working. */
const gatewayErrors: ReadonlySet<string> = new Set([
  "client_closed",
  "internal",
  "storage_unavailable",
  "ledger_unavailable",
]);

/** For the last attempt of a request that failed. `attempts`: the number of upstream requests. */
export const mayHaveBeenBilled = (attempts: number, error: GatewayError): boolean =>
  attempts > 0 && (mayBeBilled(error) || (gatewayErrors.has(error.kind) && !error.details.notSent));
