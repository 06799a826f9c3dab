/** Reads and validates the JSON body of a request to the admin API. */
import type { z } from "zod";
import { message } from "../../contract/messages/message.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Actor } from "./actor.ts";
import type { AdminApiContext } from "./admin-route.ts";
import { notSignedIn } from "./sign-in/authenticate-actor.ts";
import { validate } from "./validate.ts";

const maxBytes = 1024 * 1024;
/** For clients that are not signed in: enough for a name, a password and a token. */
const maxAnonymousBytes = 4 * 1024;

export async function readBody<Schema extends z.ZodType>(
  context: AdminApiContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  // Only routes for anyone are handled without an actor.
  const isAnonymous = (context.get("actor") as Actor | undefined) === undefined;
  const body = await context.env.incoming.json("admin", isAnonymous ? maxAnonymousBytes : maxBytes);
  // The user may have been removed or changed while the body was on its way.
  if (!isAnonymous && !(await context.get("isStillAllowed")())) throw notSignedIn();
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new GatewayError("invalid_json", message("body_is_no_object"));
  }
  refuseNull(body);
  return validate(schema, { ...body });
}

/** PostgreSQL cannot store the character U+0000, and no name or text needs it. */
function refuseNull(body: object): void {
  JSON.stringify(body, (name, value: unknown) => {
    if (!name.includes("\0") && !(typeof value === "string" && value.includes("\0"))) return value;
    throw new GatewayError("invalid_value", message("body_has_null"));
  });
}
