/** Decides whether an upstream may have done the work of a failed request and bill for it. */
import { GatewayError } from "../lib/gateway-error.ts";

/** Of the fault itself: what was never sent, or came to a place that is none, cost nothing. */
export function mayBeBilled({ row, details }: GatewayError): boolean {
  if (details.unsent) return false;
  return details.paid === true || (row.maybePaid === true && !details.unmade);
}

/** The same fault, of an upstream that was at work by then: it may charge for it, whatever the table says. */
export const markMayBeBilled = (error: unknown): unknown =>
  error instanceof GatewayError
    ? new GatewayError(error.fault, error.message, { ...error.details, paid: true })
    : error;

/** Ends of our own making, while an upstream may have been at work. */
const gatewayErrors: ReadonlySet<string> = new Set([
  "client_closed",
  "internal",
  "storage_unavailable",
  "ledger_unavailable",
]);

/** Of the last attempt of a call that ended so. `attempts`: how often a target was asked. */
export const mayHaveBeenBilled = (attempts: number, error: GatewayError): boolean =>
  attempts > 0 && (mayBeBilled(error) || (gatewayErrors.has(error.fault) && !error.details.unsent));
