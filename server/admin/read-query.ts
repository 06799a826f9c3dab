/** Reads and validates the query parameters of a request to the admin API. An empty parameter counts as absent. */
import type { z } from "zod";
import { message } from "../../contract/messages/message.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { AdminApiContext, AdminOperation } from "./admin-route.ts";
import { validate } from "./validate.ts";

export function readQuery<Schema extends z.ZodType>(
  context: AdminApiContext,
  schema: Schema,
): z.output<Schema> {
  const given = Object.entries(context.req.query()).filter(([, value]) => value !== "");
  return validate(schema, Object.fromEntries(given));
}

/** A misspelled filter must not return the whole list, and of two values of a parameter, neither may be ignored. */
export function refuseUnknownParameters(
  { req }: AdminApiContext,
  { query }: Pick<AdminOperation, "query">,
): void {
  const known = Object.keys(query?.shape ?? {});
  const given = Object.entries(req.queries());
  const repeated = given.find(([, values]) => values.length > 1)?.[0].slice(0, 100);
  if (repeated !== undefined) {
    throw new GatewayError("invalid_value", message("parameter_twice", { param: repeated }), {
      param: repeated,
    });
  }
  const unknown = given.find(([name]) => !known.includes(name))?.[0];
  if (unknown === undefined) return;
  const name = unknown.slice(0, 100);
  const reason =
    known.length === 0
      ? message("no_query", { param: name })
      : message("unknown_query", { param: name, known: known.join(", ") });
  throw new GatewayError("unknown_parameter", reason, { param: name });
}
