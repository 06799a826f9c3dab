/** Priority classes: batch requests wait behind interactive requests, and are shed first. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "./caller.ts";
import type { RequestHeaders } from "./http-types.ts";

export type Priority = "interactive" | "batch";

const header = "vexel-priority";

/** The priority of an HTTP request: of its API key, else of its header, else interactive. Throws GatewayError. */
export function priorityOf(headers: RequestHeaders, caller: Caller): Priority {
  const given = headers.get(header)?.toLowerCase();
  if (given !== undefined && given !== "interactive" && given !== "batch") {
    throw new GatewayError(
      "invalid_value",
      `Invalid value of the header '${header}': '${given.slice(0, 40)}'. Supported values are: 'interactive' and 'batch'.`,
      { param: header },
    );
  }
  return caller.priority ?? given ?? "interactive";
}
