/** Headers of every upstream request: authentication, and the configured headers. */
import type { Upstream } from "../../contract.ts";

export type WireHeaders = Readonly<Record<string, string>>;

/** An upstream of a snapshot never changes, so its headers are put together once. */
const known = new WeakMap<Upstream, WireHeaders>();

/** Configured headers override those of the adapter. */
export function headersOf(
  upstream: Upstream,
  prove: (key: string) => Record<string, string>,
): WireHeaders {
  const before = known.get(upstream);
  if (before) return before;
  const headers = Object.freeze({
    ...(upstream.apiKey !== undefined && prove(upstream.apiKey)),
    ...withLowerCaseNames(upstream.headers),
  });
  known.set(upstream, headers);
  return headers;
}

/** For upstreams that are not sent the API key: it is exchanged for a token, or signs the request. */
export const ownHeaders = (upstream: Upstream): WireHeaders => headersOf(upstream, () => ({}));

/** The API key as a bearer token, as nearly every vendor requires. */
export const bearer = (upstream: Upstream): WireHeaders =>
  headersOf(upstream, (key) => ({ authorization: `Bearer ${key}` }));

/** In lower case, so that a configured header replaces the adapter's instead of being sent next to it. */
const withLowerCaseNames = (headers: Upstream["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
