/** A question in JSON with a bearer token, as nearly every vendor takes it. */
import type { WireRequest } from "../adapter.ts";
import type { Rest, Upstream } from "../contract.ts";
import { headersOf } from "./place.ts";

export const bearer = (upstream: Upstream): Readonly<Record<string, string>> =>
  headersOf(upstream, (key) => ({ authorization: `Bearer ${key}` }));

/** Absent stays absent: what is undefined is not written. */
export const askWithBearer = (url: string, upstream: Upstream, body: Rest): WireRequest => ({
  url,
  headers: { ...bearer(upstream), "content-type": "application/json" },
  body: JSON.stringify(body),
});
