/** What happens to work whose caller has gone. */

import { GatewayError } from "../../../std/gateway-error.ts";
import type { Signal } from "../../../std/signal.ts";

/** The caller's own reason if it is one of ours, else "the caller hung up". */
export function stopIfAborted(signal: Signal): void {
  if (!signal.aborted) return;
  const reason: unknown = signal.reason;
  throw reason instanceof GatewayError
    ? reason
    : new GatewayError("client_closed", "The caller hung up first.", { cause: reason });
}
