/** Pagination: the query parameters `cursor` and `limit` of a list. */
import { z } from "zod";
import { listBounds } from "../../contract/admin/list-bounds.ts";
import { message } from "../../contract/messages/message.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { PageRequest } from "../storage/sql/page.ts";
import type { AdminApiContext } from "./admin-route.ts";
import { readQuery } from "./read-query.ts";

export const defaultLimit = 50;
const maxLimit = listBounds.page;

export const pageQuery = z.object({
  cursor: z.string().max(500).optional().describe("The `next_cursor` of the previous page."),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, `it must be a number from 1 to ${maxLimit}`)
    .transform(Number)
    .pipe(z.int().min(1).max(maxLimit))
    .optional()
    .describe(`The number of items, from 1 to ${maxLimit}. Default: ${defaultLimit}.`),
});

export function readPage(context: AdminApiContext): PageRequest {
  const { cursor, limit = defaultLimit } = readQuery(context, pageQuery);
  return { cursor: cursor === undefined ? undefined : readCursor(context, cursor), limit };
}

/** The `next_cursor` of a page. It names its list, so that a cursor of another list is refused. */
export const nextCursor = ({ req }: AdminApiContext, next: string | undefined): string | null =>
  next === undefined ? null : Buffer.from(JSON.stringify([req.path, next])).toString("base64url");

function readCursor({ req }: AdminApiContext, cursor: string): string {
  try {
    const [path, next]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (path === req.path && typeof next === "string" && !next.includes("\0")) return next;
  } catch {
    // Refused below.
  }
  throw new GatewayError("invalid_value", message("wrong_cursor"), { param: "cursor" });
}
