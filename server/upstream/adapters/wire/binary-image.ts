/** Reads responses that are the image's bytes, without JSON around them. */
import type { ImageRequestContext, UpstreamResponse } from "../../adapter.ts";
import { collectImage } from "../../collect-image.ts";
import type { BufferedImageResponse, ImageContent } from "../../contract.ts";
import { readDocument } from "./document.ts";
import { toMappedError } from "./native-errors.ts";

const typeOf = ({ headers }: UpstreamResponse): string => headers.get("content-type") ?? "";

export const isImageResponse = (response: UpstreamResponse): boolean =>
  /^image\//i.test(typeOf(response));

/** The metadata is in headers, at Stability and at Fireworks, which adopted the format. */
export async function readBinaryImage(
  response: UpstreamResponse,
  context: ImageRequestContext,
): Promise<BufferedImageResponse> {
  const { headers } = response;
  const image = await collectImage(response.chunks(), context.temp);
  // A filtered image is delivered nevertheless, blurred or black.
  if (isFiltered(headers.get("finish-reason")))
    throw toMappedError("moderated", undefined, context);
  const seed = headers.get("seed");
  const seedField = seed !== null &&
    /^\d{1,15}$/.test(seed) && { extraFields: { seed: Number(seed) } };
  return { kind: "buffered", results: [{ image, ...seedField }], metadata: {} };
}

export const isFiltered = (reason: unknown): boolean =>
  typeof reason === "string" && /^content_filtered$/i.test(reason);

/** One image: the body or, if that is JSON, the result of `find`. */
export async function readSingleImage(
  response: UpstreamResponse,
  { temp }: ImageRequestContext,
  find: (body: unknown) => ImageContent,
): Promise<BufferedImageResponse> {
  const image = /\bjson\b/i.test(typeOf(response))
    ? find(await readDocument(response, temp))
    : await collectImage(response.chunks(), temp);
  return { kind: "buffered", results: [{ image }], metadata: {} };
}
