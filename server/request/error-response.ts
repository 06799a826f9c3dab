/**
 * The error response: converts an error into a status, headers (`retry-after`, `x-should-retry`) and
 * OpenAI's error body. No other code does.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { OutgoingResponse } from "./http-types.ts";

type ErrorResponse = OutgoingResponse & { readonly body: string };

export function toErrorResponse(error: GatewayError): ErrorResponse {
  const { status, retry, clientShouldNotRetry, causedBy } = error.definition;
  const { retryAfterMs, allow } = error.details;
  // OpenAI's clients retry 408, 409, 429 and 5xx, unless this header says that a retry cannot succeed.
  const isRetryUseless = retry === "never" || clientShouldNotRetry === true;
  return {
    status,
    headers: {
      "content-type": "application/json",
      ...(isRetryUseless && { "x-should-retry": "false" }),
      ...(retryAfterMs !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
        "retry-after-ms": String(Math.ceil(retryAfterMs)),
      }),
      ...(causedBy === "gateway" &&
        retryAfterMs === undefined &&
        !isRetryUseless && { "retry-after": "1" }),
      ...(allow !== undefined && { allow }),
    },
    body: JSON.stringify(error.body),
  };
}

/** Any exception as a GatewayError. An exception of another type is a bug, unless the request was aborted. */
export function toGatewayError(thrown: unknown, signal: AbortSignal | undefined): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  if (signal?.aborted && signal.reason instanceof GatewayError) return signal.reason;
  return new GatewayError(
    "internal",
    "An error occurred while processing your request. To find it in the gateway's log, search for the request ID in the header x-request-id.",
    { cause: thrown },
  );
}
