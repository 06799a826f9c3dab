/** The error for an upstream response that failed verification. */
import { GatewayError } from "../lib/gateway-error.ts";

export const invalidResponse = (message: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's response is not usable: ${message}.`);
