/** The query parameters `cursor` and `limit` of a list. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { PageRequest } from "../storage/ports/page.ts";
import type { AdminApiContext } from "./admin-route.ts";

const [defaultLimit, maxLimit] = [50, 200];

export function readPage(context: AdminApiContext): PageRequest {
  const { cursor, limit = String(defaultLimit) } = context.req.query();
  const value = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (value < 1 || value > maxLimit) {
    throw new GatewayError(
      "invalid_value",
      `Invalid 'limit': it must be a number from 1 to ${maxLimit}.`,
      { param: "limit" },
    );
  }
  return { cursor: cursor || undefined, limit: value };
}
