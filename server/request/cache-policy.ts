/** What a request may do with the embedding cache. */
import type { RequestHeaders } from "./http-types.ts";

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
