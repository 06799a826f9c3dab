/** The error for work that was aborted, and the end of a wait for work that cannot be. */
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

/**
 * Stops waiting for work that cannot be canceled: the work continues, and the waiting code gets the signal's reason.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}
