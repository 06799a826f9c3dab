/**
 * CORS: requests from web pages of other origins, and their preflight requests. Off unless the operator names the
 * origins.
 */

import { rateLimits } from "../../contract/limits-and-budgets.ts";
import { commaList } from "../lib/comma-list.ts";
import type { IncomingRequest, OutgoingResponse, RequestHeaders } from "../request/http-types.ts";

/** The CORS headers to add. Undefined if there are none. */
export type Cors = (headers: RequestHeaders) => Record<string, string> | undefined;

/** `origins`: comma-separated, or `*`. */
export function createCors(origins: string): Cors {
  const allowed = new Set(commaList(origins));
  if (allowed.size === 0) return () => undefined;
  if (allowed.has("*")) {
    return (headers) => (headers.get("origin") === null ? undefined : allowOrigin("*"));
  }
  return (headers) => {
    const origin = headers.get("origin");
    const isAllowed = origin !== null && allowed.has(origin);
    return { ...(isAllowed && allowOrigin(origin)), vary: "origin" };
  };
}

const allowOrigin = (origin: string): Record<string, string> => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": exposedHeaders,
});

const rateLimitHeaders = rateLimits.flatMap(({ name }) =>
  ["limit", "remaining", "reset"].map((which) => `x-ratelimit-${which}-${name}`),
);
const exposedHeaders = [
  "x-request-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "idempotent-replayed",
  "vexel-ledger",
  "vexel-replica",
  "vexel-adapted",
  "vexel-dropped",
  "vexel-missing",
  "vexel-usage",
  "vexel-cost",
  "vexel-replayed-from",
  ...rateLimitHeaders,
].join(", ");

/** Adds the CORS headers to a response. */
export function addCors(
  { status, headers }: OutgoingResponse,
  corsHeaders: Readonly<Record<string, string>>,
  { method, headers: requestHeaders }: IncomingRequest,
): void {
  const isAllowed = "access-control-allow-origin" in corsHeaders;
  if (method === "OPTIONS" && status === 204 && isAllowed) {
    Object.assign(headers, preflight(requestHeaders, headers.allow ?? ""));
  }
  Object.assign(headers, corsHeaders);
}

const preflight = (headers: RequestHeaders, methods: string): Record<string, string> => ({
  "access-control-allow-methods": methods,
  "access-control-allow-headers":
    headers.get("access-control-request-headers") ?? "authorization, content-type",
  "access-control-max-age": "600",
});
