/** The error for an upstream response that cannot be parsed or that failed verification. */
import { GatewayError } from "../lib/gateway-error.ts";

/** `problem`: what is wrong with the response. */
export const invalidResponse = (problem: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's response is not usable: ${problem}.`);

export const invalidJson = (cause: unknown): GatewayError =>
  new GatewayError("upstream_invalid", "The upstream's response is not valid JSON.", { cause });
