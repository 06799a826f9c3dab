/** The error for work that was aborted. */

import { GatewayError } from "./gateway-error.ts";

/** The reason of the signal if it is a gateway error; without one, the client has closed the connection. */
export function abortError({ reason }: AbortSignal): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError(
    "client_closed",
    "The client closed the connection before the response was complete.",
    { cause: reason },
  );
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}
