/** Headers of every upstream request: authentication, and the configured headers. */
import type { Upstream } from "../../contract.ts";

export type WireHeaders = Readonly<Record<string, string>>;

/** An upstream of a snapshot never changes, so its headers are put together once. */
const known = new WeakMap<Upstream, WireHeaders>();

/** The headers of the configuration win. */
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

/** Where the key is not sent: it is exchanged for a token, or signs. */
export const ownHeaders = (upstream: Upstream): WireHeaders => headersOf(upstream, () => ({}));

/** As nearly every vendor takes it. */
export const bearer = (upstream: Upstream): WireHeaders =>
  headersOf(upstream, (key) => ({ authorization: `Bearer ${key}` }));

/** In lower case, so that a configured header replaces the adapter's instead of being sent next to it. */
const withLowerCaseNames = (headers: Upstream["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
