/** The one place where a fault becomes a status, headers and OpenAI's error body. */

import type { AbortSignalLike } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { OutgoingResponse } from "./http-types.ts";

export type ErrorResponse = OutgoingResponse & { readonly body: string };

/** `once`: whatever the table says, the caller's client is not to try again by itself. */
export function toErrorResponse(error: GatewayError, once = false): ErrorResponse {
  const { status, retry, clientShouldNotRetry, causedBy } = error.definition;
  const { retryAfterMs } = error.details;
  // OpenAI's clients retry these statuses unless told that it is no use.
  const hopeless = retry === "never" || clientShouldNotRetry === true || once;
  return {
    status,
    headers: {
      "content-type": "application/json",
      ...(hopeless && { "x-should-retry": "false" }),
      ...(retryAfterMs !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
        "retry-after-ms": String(Math.ceil(retryAfterMs)),
      }),
      ...(causedBy === "gateway" &&
        retryAfterMs === undefined &&
        !hopeless && { "retry-after": "1" }),
    },
    body: JSON.stringify(error.body),
  };
}

/** Whatever was thrown, as a fault. What is not one already is a defect of ours, unless the journey was aborted. */
export function toGatewayError(thrown: unknown, signal: AbortSignalLike | undefined): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  if (signal?.aborted && signal.reason instanceof GatewayError) return signal.reason;
  return new GatewayError(
    "internal",
    "An error occurred while processing your request. The request ID in the header x-request-id finds it in the gateway's log.",
    { cause: thrown },
  );
}
