/** The error for work that was aborted. */
import { GatewayError } from "./gateway-error.ts";
import type { Signal } from "./signal.ts";

/** The reason of the signal if it is a gateway error; without one, the client has closed the connection. */
export function abortError({ reason }: Signal): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError("client_closed", "The caller hung up first.", { cause: reason });
}

export function throwIfAborted(signal: Signal): void {
  if (signal.aborted) throw abortError(signal);
}
