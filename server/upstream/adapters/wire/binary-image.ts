/** Reads responses that are the image's bytes, without JSON around them. */
import type { ImageRequestContext, UpstreamResponse } from "../../adapter.ts";
import { collectImage } from "../../collect-image.ts";
import type { BufferedImageResponse, GenerationQuery, ImageContent } from "../../contract.ts";
import { readDocument } from "./document.ts";
import { toMappedError } from "./native-errors.ts";

const typeOf = ({ headers }: UpstreamResponse): string => headers.get("content-type") ?? "";

export const isImageResponse = (reply: UpstreamResponse): boolean =>
  /^image\//i.test(typeOf(reply));

/** The metadata is in headers, at Stability and at Fireworks, which adopted the format. */
export async function readBinaryImage(
  reply: UpstreamResponse,
  context: ImageRequestContext<GenerationQuery>,
): Promise<BufferedImageResponse> {
  const { headers } = reply;
  const image = await collectImage(reply.chunks(), context.temp);
  // A filtered image is delivered nevertheless, blurred or black.
  if (isFiltered(headers.get("finish-reason")))
    throw toMappedError("moderated", undefined, context);
  const seed = headers.get("seed");
  const seedField = seed !== null && /^\d{1,15}$/.test(seed) && { rest: { seed: Number(seed) } };
  return { kind: "whole", results: [{ image, ...seedField }], metadata: {} };
}

export const isFiltered = (reason: unknown): boolean => /^content_filtered$/i.test(String(reason));

/** One image: the body or, if that is JSON, the result of `find`. */
export async function readSingleImage(
  reply: UpstreamResponse,
  { temp }: ImageRequestContext<GenerationQuery>,
  find: (response: unknown) => ImageContent,
): Promise<BufferedImageResponse> {
  const image = /\bjson\b/i.test(typeOf(reply))
    ? find(await readDocument(reply, temp))
    : await collectImage(reply.chunks(), temp);
  return { kind: "whole", results: [{ image }], metadata: {} };
}
