/** What a request asks for, what it used, and the forms that the body of its response can have. */
import type { StreamedJson } from "../lib/json-stream.ts";
import type { BodyChunks } from "./http-types.ts";

export type Operation = "embeddings" | "generations" | "edits";

export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Images that were generated, whether or not they were delivered. */
  readonly images?: number;
}

/** In chunks if they need not be joined. Streamed if it holds images that are on disk until the request ends. */
export type ResponseBody = string | BodyChunks | Uint8Array | StreamedJson;
