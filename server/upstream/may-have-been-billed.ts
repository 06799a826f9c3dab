/** Against double billing: decides whether an upstream may have done the work of a failed request, and may bill it. */
import { GatewayError } from "../lib/gateway-error.ts";

/** By the error alone: a request that was never sent, or that reached no such endpoint, is not billed. */
export function mayBeBilled({ definition: row, details }: GatewayError): boolean {
  if (details.notSent) return false;
  return details.mayBeBilled === true || (row.mayBeBilled === true && !details.notExecuted);
}

/**
 * Whether the upstream may bill the failed request. False for an upstream that reports the failure itself and bills
 * only what it delivers: then the next target is tried. The error response still tells the client not to retry
 * automatically.
 */
export const mayBillFailedAttempt = (error: unknown): boolean =>
  error instanceof GatewayError &&
  mayBeBilled(error) &&
  (error.details.mayBeBilled === true || !error.details.notBilled);

/**
 * Marks an error after an upstream had begun to work: the upstream may bill, whatever the error table says, and
 * although a later request, such as a poll or a download, was not sent.
 */
export function markMayBeBilled(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { notSent: _, notExecuted: __, notBilled: ___, ...details } = error.details;
  return new GatewayError(error.kind, error.message, { ...details, mayBeBilled: true });
}

/** Errors of the gateway or the client, during which the upstream may have been working. */
const gatewayErrors: ReadonlySet<string> = new Set([
  "client_closed",
  "internal",
  "storage_unavailable",
  "ledger_unavailable",
  "shutting_down",
]);

/** The gateway or the client has ended the request while its upstream may have been working. */
export const wasInterrupted = ({ kind, details }: GatewayError): boolean =>
  gatewayErrors.has(kind) && !details.notSent;

/** For the last attempt of a request that failed. `attempts`: the number of upstream requests. */
export const mayHaveBeenBilled = (attempts: number, error: GatewayError): boolean =>
  attempts > 0 && (mayBeBilled(error) || wasInterrupted(error));

/**
 * The error for the client of an image request that may have been billed. It suggests no retry: clients retry
 * automatically, and only the client may decide to pay again. The message of an upstream stays as it is.
 */
export function withBillingWarning(error: GatewayError): GatewayError {
  const { kind, message, definition, details } = error;
  const { retryAfterMs: _, ...others } = details;
  const wasBegun = definition.causedBy === "gateway" || details.mayBeBilled === true;
  return new GatewayError(kind, wasBegun ? `${message} ${billingWarning}` : message, {
    ...others,
    overrides: { ...details.overrides, retry: "never" },
  });
}

const billingWarning =
  "Do not retry automatically: the images may have been generated and billed, and a retry may generate, and bill, them again.";
