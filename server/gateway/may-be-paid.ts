/** What a fault says about money: may the upstream have done the work, and send a bill for it? */
import type { GatewayError } from "../std/gateway-error.ts";

/** Of the fault itself: what was never sent, or came to a place that is none, cost nothing. */
export function mayBePaid({ row, details }: GatewayError): boolean {
  if (details.unsent) return false;
  return details.paid === true || (row.maybePaid === true && !details.unmade);
}

/** Ends of our own making, while an upstream may have been at work. */
const cutShort: ReadonlySet<string> = new Set([
  "client_closed",
  "internal",
  "storage_unavailable",
  "ledger_unavailable",
]);

/** Of the last attempt of a call that ended so. `attempts`: how often a target was asked. */
export const mayHaveBeenPaid = (attempts: number, error: GatewayError): boolean =>
  attempts > 0 && (mayBePaid(error) || (cutShort.has(error.fault) && !error.details.unsent));
