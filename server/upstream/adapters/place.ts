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
    headers: {
      ...(upstream.apiKey !== undefined && { authorization: `Bearer ${upstream.apiKey}` }),
      ...extraHeaders(upstream),
    },
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
    headers: {
      ...(upstream.apiKey !== undefined && { "api-key": upstream.apiKey }),
      ...extraHeaders(upstream),
    },
  };
};

/** Two spellings of one name would both be sent: in small letters, what the configuration says takes the place of ours. */
const extraHeaders = ({ headers }: Upstream): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
