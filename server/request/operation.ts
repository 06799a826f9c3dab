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

/** In parts where nobody has to join them. Streamed where it holds pictures that lie on disk until the call is over. */
export type ResponseBody = string | BodyChunks | Uint8Array | StreamedJson;
