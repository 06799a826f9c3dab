/** Where an upstream takes a call and what proves that we may make it. */
import type { Target, Upstream } from "../contract.ts";

export type Path = "embeddings" | "images/generations" | "images/edits";

export type Place = (
  target: Target,
  path: Path,
) => { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** `{baseUrl}/embeddings` with a bearer token, as OpenAI has it. */
export const openaiPlace =
  (defaultBaseUrl: string | undefined): Place =>
  ({ upstream }, path) => ({
    url: `${upstream.baseUrl ?? defaultBaseUrl}/${path}`,
    headers: headersOf(upstream, (key) => ({ authorization: `Bearer ${key}` })),
  });

/**
 * Azure has two surfaces: with an `apiVersion` the deployment stands in the address,
 * without one the newer /openai/v1 takes the deployment's name as the model.
 */
export const azurePlace: Place = ({ upstream, model }, path) => {
  const root = (upstream.baseUrl ?? "").replace(/\/openai(\/v1)?$/, "");
  const { apiVersion } = upstream.options;
  return {
    url:
      typeof apiVersion === "string"
        ? `${root}/openai/deployments/${encodeURIComponent(model)}/${path}?api-version=${encodeURIComponent(apiVersion)}`
        : `${root}/openai/v1/${path}`,
    headers: headersOf(upstream, (key) => ({ "api-key": key })),
  };
};

/** An upstream of a snapshot never changes, so its headers are put together once. */
const known = new WeakMap<Upstream, Readonly<Record<string, string>>>();

/** What every call to an upstream carries: the proof, and the headers of the configuration, which win. */
export function headersOf(
  upstream: Upstream,
  prove: (key: string) => Record<string, string>,
): Readonly<Record<string, string>> {
  const before = known.get(upstream);
  if (before) return before;
  const headers = Object.freeze({
    ...(upstream.apiKey !== undefined && prove(upstream.apiKey)),
    ...inSmallLetters(upstream.headers),
  });
  known.set(upstream, headers);
  return headers;
}

/** Two spellings of one name would both be sent: this way, what the configuration says takes the place of ours. */
const inSmallLetters = (headers: Upstream["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
