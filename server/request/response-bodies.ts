/** The forms of a response body. */
import type { StreamedJson } from "../lib/json-stream.ts";
import type { BodyChunks } from "./http-types.ts";
import type { ResponseBody } from "./operation.ts";

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
