/** The shapes that the body of an answer has. */
import type { StreamedJson } from "../lib/json-stream.ts";
import type { Parts } from "./http-types.ts";
import type { Body } from "./operation.ts";

export const isStreamed = (body: Body): body is StreamedJson =>
  typeof body === "object" && "open" in body;

export const isInParts = (body: Body): body is Parts => Array.isArray(body);

/** As one, for those who have to keep it. */
export const joined = (parts: Parts): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));

/** In bytes. */
export function lengthOf(body: Body): number {
  if (isStreamed(body)) return body.length;
  if (!isInParts(body)) return Buffer.byteLength(body);
  let length = 0;
  for (const part of body) length += Buffer.byteLength(part);
  return length;
}
