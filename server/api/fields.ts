/** Preprocessing of the JSON bodies of all endpoints, before validation. */
import { GatewayError } from "../lib/gateway-error.ts";

/**
 * A null member counts as absent. Some SDKs send null for every option that is not set, and many upstreams refuse it.
 */
export function withoutNulls(body: unknown): Record<string, unknown> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new GatewayError(
      "invalid_json",
      'The body must be a JSON object, such as {"model": "..."}.',
    );
  }
  const fields = body as Record<string, unknown>;
  for (const name in fields) {
    if (fields[name] === null) {
      return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
    }
  }
  return fields;
}
