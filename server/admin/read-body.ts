/** Reads and validates the JSON body of a request to the admin API. */
import type { z } from "zod";
import { validate } from "../http/read-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { AdminApiContext } from "./admin-route.ts";

/** Also bounds bodies of clients that are not signed in. */
const maxBytes = 1024 * 1024;

export async function readBody<Schema extends z.ZodType>(
  context: AdminApiContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = await context.env.incoming.json("admin", maxBytes);
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new GatewayError("invalid_json", "The body must be a JSON object.");
  }
  refuseNull(body);
  return validate(schema, { ...body });
}

/** PostgreSQL cannot store the character U+0000, and no name or text needs it. */
function refuseNull(body: object): void {
  JSON.stringify(body, (name, value: unknown) => {
    if (!name.includes("\0") && !(typeof value === "string" && value.includes("\0"))) return value;
    throw new GatewayError(
      "invalid_value",
      "The body contains the character U+0000 (null), which cannot be stored.",
    );
  });
}
