/** Optimistic locking over HTTP: the version of an entity is its ETag, and a change names it in `if-match`. */

import { message } from "../../contract/messages/message.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { AdminApiContext } from "./admin-route.ts";

/** The version in `if-match`, such as `"3"`. Undefined if the change replaces any version. */
export function ifMatch(context: AdminApiContext): number | undefined {
  const text = context.req.header("if-match")?.trim() ?? "*";
  if (text === "*") return undefined;
  const version = /^(?:W\/)?"?(\d{1,15})"?$/.exec(text)?.[1];
  if (version !== undefined) return Number(version);
  throw new GatewayError("invalid_value", message("wrong_if_match"), { param: "if-match" });
}

export const setEtag = (context: AdminApiContext, version: number | undefined): void => {
  if (version !== undefined) context.header("etag", `"${version}"`);
};
