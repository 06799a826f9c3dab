/** Builds upstream requests: JSON or a form, for embeddings or for images, which are billed per request. */
import { isLongJson, LargeJson } from "../../../lib/large-json.ts";
import type { UpstreamRequest } from "../../adapter.ts";
import type { ExtraFields, Upstream } from "../../contract.ts";
import { bearer, type WireHeaders } from "./headers.ts";
import { jsonBody } from "./json-with-files.ts";
import { type Part, writeForm } from "./multipart.ts";

/** Most upstreams take an object, some a list of objects. */
type Body = ExtraFields | readonly ExtraFields[];

/** Undefined members are not written, in this request and those below. A large body is serialized when it is sent. */
export const jsonRequest = (url: string, headers: WireHeaders, body: Body): UpstreamRequest => ({
  url,
  headers: { ...headers, "content-type": "application/json" },
  body: isLongJson(body) ? new LargeJson(body) : JSON.stringify(body),
});

export const bearerJsonRequest = (url: string, upstream: Upstream, body: Body): UpstreamRequest =>
  jsonRequest(url, bearer(upstream), body);

/** Not idempotent: each copy that reaches the vendor is billed. Streamed, because an image is too large to buffer. */
const paid = { isNonIdempotent: true, streams: true } as const;

/** Files in `body` go from disk to the socket. */
export const imageJsonRequest = (
  url: string,
  headers: WireHeaders,
  body: Body,
): UpstreamRequest => ({
  url,
  headers: { ...headers, "content-type": "application/json" },
  ...paid,
  body: jsonBody(body),
});

export function imageFormRequest(
  url: string,
  headers: WireHeaders,
  parts: readonly Part[],
): UpstreamRequest {
  const { contentType, body } = writeForm(parts);
  return { url, headers: { ...headers, "content-type": contentType }, ...paid, body };
}
