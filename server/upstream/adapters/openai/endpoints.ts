/** URLs and authentication headers of an OpenAI-compatible upstream. */
import type { Target } from "../../contract.ts";
import { bearer, type WireHeaders } from "../wire/build-request.ts";

export type Path =
  | "embeddings"
  | "images/generations"
  | "images/edits"
  | "responses"
  | "moderations";

export type EndpointResolver = (
  target: Target,
  path: Path,
) => { readonly url: string; readonly headers: WireHeaders };

/** `{baseUrl}/embeddings` with a bearer token, as OpenAI has it. */
export const openaiEndpoints =
  (defaultBaseUrl: string | undefined): EndpointResolver =>
  ({ upstream }, path) => ({
    url: `${upstream.baseUrl ?? defaultBaseUrl}/${path}`,
    headers: bearer(upstream),
  });
