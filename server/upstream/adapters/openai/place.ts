/** Where an upstream that speaks OpenAI's language takes a call, and what proves that we may make it. */
import type { Target } from "../../contract.ts";
import { bearer, type WireHeaders } from "../wire/headers.ts";

export type Path =
  | "embeddings"
  | "images/generations"
  | "images/edits"
  | "responses"
  | "moderations";

export type Place = (
  target: Target,
  path: Path,
) => { readonly url: string; readonly headers: WireHeaders };

/** `{baseUrl}/embeddings` with a bearer token, as OpenAI has it. */
export const openaiPlace =
  (defaultBaseUrl: string | undefined): Place =>
  ({ upstream }, path) => ({
    url: `${upstream.baseUrl ?? defaultBaseUrl}/${path}`,
    headers: bearer(upstream),
  });
