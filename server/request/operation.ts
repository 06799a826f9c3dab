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

/** The forms of a response body. */
export const isStreamed = (body: ResponseBody): body is StreamedJson =>
  typeof body === "object" && "open" in body;

export const isChunked = (body: ResponseBody): body is BodyChunks => Array.isArray(body);

/** Joins the chunks into one buffer of their own. */
export const joinChunks = (parts: BodyChunks): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));

/** The length of the body in bytes. */
export function lengthOf(body: ResponseBody): number {
  if (isStreamed(body)) return body.length;
  if (!isChunked(body)) return Buffer.byteLength(body);
  let length = 0;
  for (const part of body) length += Buffer.byteLength(part);
  return length;
}
