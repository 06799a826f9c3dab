/** Reads and validates the query parameters of a request to the admin API. An empty parameter counts as absent. */
import type { z } from "zod";
import { parse } from "../http/validate-body.ts";
import type { AdminApiContext } from "./admin-route.ts";

export function readQuery<Schema extends z.ZodType>(
  context: AdminApiContext,
  schema: Schema,
): z.output<Schema> {
  const given = Object.entries(context.req.query()).filter(([, value]) => value !== "");
  return parse(schema, Object.fromEntries(given));
}
