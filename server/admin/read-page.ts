/** The query parameters `cursor` and `limit` of a list. */
import { z } from "zod";
import type { PageRequest } from "../storage/ports/page.ts";
import type { AdminApiContext } from "./admin-route.ts";
import { readQuery } from "./read-query.ts";

const [defaultLimit, maxLimit] = [50, 200];

export const pageQuery = z.object({
  cursor: z.string().max(500).optional().describe("The `next_cursor` of the previous page."),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, `it must be a number from 1 to ${maxLimit}`)
    .transform(Number)
    .pipe(z.number().min(1).max(maxLimit))
    .optional()
    .describe(`The number of items, from 1 to ${maxLimit}. Default: ${defaultLimit}.`),
});

export function readPage(context: AdminApiContext): PageRequest {
  const { cursor, limit = defaultLimit } = readQuery(context, pageQuery);
  return { cursor, limit };
}
