/** Maps errors of the drawing program: its codes are error kinds of the gateway. */

import { SketchError } from "#sketch";
import { GatewayError } from "../../lib/gateway-error.ts";
import { abortError } from "../../lib/tasks.ts";

/** `signal`: the signal of the request, whose reason the drawing program throws after an abort. */
export function sketchErrorToGatewayError(error: unknown, signal: AbortSignal): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof SketchError) {
    const { code, message, param, cause } = error;
    return new GatewayError(code, message, { param, cause });
  }
  if (signal.aborted && error === signal.reason) return abortError(signal);
  // For the log: clients get a general message for an internal error. No scene contains text of a prompt, so no message
  // does.
  const reason = error instanceof Error ? error.message : String(error);
  return new GatewayError("internal", `The drawing program failed: ${reason}`, { cause: error });
}
