/**
 * What a client chooses by request headers: the priority class, and what the request may do with the embedding cache.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "./caller.ts";
import type { RequestHeaders } from "./http-types.ts";

/** Priority classes: batch requests wait behind interactive requests, and are shed first. */
export type Priority = "interactive" | "batch";

const priorityHeader = "vexel-priority";

/** The priority of an HTTP request: of its API key, else of its header, else interactive. Throws GatewayError. */
export function priorityOf(headers: RequestHeaders, caller: Caller): Priority {
  const given = headers.get(priorityHeader)?.toLowerCase();
  if (given !== undefined && given !== "interactive" && given !== "batch") {
    throw new GatewayError(
      "invalid_value",
      `Invalid value of the header '${priorityHeader}': '${given.slice(0, 40)}'. Supported values are: 'interactive' and 'batch'.`,
      { param: priorityHeader },
    );
  }
  return caller.priority ?? given ?? "interactive";
}

/**
 * `use`: reads and stores. `refresh`: asks the upstream and stores the result. `no-store`: neither reads nor stores,
 * and shares no upstream request with others (single-flight).
 */
export type CachePolicy = "use" | "refresh" | "no-store";

/**
 * The cache policy of an HTTP request, by the directives of its `cache-control` header. Unknown directives are ignored.
 */
export function cachePolicyOf(headers: RequestHeaders): CachePolicy {
  const header = headers.get("cache-control");
  if (header === null) return "use";
  const directives = header.split(",").map((directive) => directive.trim().toLowerCase());
  if (directives.includes("no-store")) return "no-store";
  return directives.includes("no-cache") ? "refresh" : "use";
}
