/** The operations of the API, the usage of a request, and the forms of a response body. */
import type { StreamedJson } from "../lib/json-stream.ts";
import type { BodyChunks } from "./http-types.ts";

/** `moderations`: the gateway checks the prompt of an image request. */
export type Operation = "embeddings" | "generations" | "edits" | "moderations";

export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Images that were generated, whether or not they were delivered. */
  readonly images?: number;
}

/**
 * `BodyChunks`: chunks that need not be joined. `StreamedJson`: a body with images that are on disk until the request
 * ends.
 */
export type ResponseBody = string | BodyChunks | Uint8Array | StreamedJson;
