/**
 * Reads images in upstream responses: base64, a data URL or a link; and responses with the images in a list called
 * `data`, as OpenAI's, to which vendors add their own fields.
 */

import { isDataUrl, isHttpUrl } from "../../../lib/url-scheme.ts";
import type { ImageRequestContext, UpstreamResponse } from "../../adapter.ts";
import type {
  BufferedImageResponse,
  ImageContent,
  ImageResult,
  LoadedImage,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { LongText, readDocument } from "./document.ts";
import { listIn, memberOf } from "./members.ts";
import { toMappedError } from "./native-errors.ts";

/** Whether the response is a stream of events. Otherwise it is one document. */
export const isEventStream = ({ headers }: UpstreamResponse): boolean =>
  /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");

interface ImageListOptions {
  /** The name of the list. The default is `data`. */
  readonly list?: string;
  /** The vendor's filter withheld this image. */
  readonly isWithheld?: (entry: unknown) => boolean;
  /** Fields of one image besides the image. */
  readonly entryFields?: (entry: unknown) => Pick<ImageResult, "revised_prompt" | "extraFields">;
  /** Fields of the whole response. */
  readonly responseFields?: (
    response: unknown,
  ) => Pick<BufferedImageResponse, "created" | "cost" | "usage" | "extraFields">;
}

export const readImageList = async (
  response: UpstreamResponse,
  context: ImageRequestContext,
  options: ImageListOptions = {},
): Promise<BufferedImageResponse> =>
  imageListIn(await readDocument(response, context.temp), context, options);

/** Images that passed the filter are delivered, because they are billed; if none did, the request was refused. */
export function imageListIn(
  response: unknown,
  context: ImageRequestContext,
  {
    list = "data",
    isWithheld = () => false,
    entryFields = () => ({}),
    responseFields = () => ({}),
  }: ImageListOptions,
): BufferedImageResponse {
  const entries = inOrder(listIn(response, list));
  const delivered = entries.filter((entry) => !isWithheld(entry));
  if (delivered.length === 0 && entries.length > 0)
    throw toMappedError("moderated", undefined, context);
  return {
    kind: "buffered",
    results: delivered.map((entry) => {
      const image = imageIn(entry);
      if (!image) throw invalidResponse("an entry has neither `b64_json` nor `url`");
      return { image, ...entryFields(entry) };
    }),
    metadata: {},
    ...responseFields(response),
  };
}

/** The image of an entry; bytes are preferred to a link. */
export const imageIn = (entry: unknown): ImageResult["image"] | undefined =>
  imageContentIn(memberOf(entry, "b64_json")) ?? imageContentIn(memberOf(entry, "url"));

/** Sorted by `index` if every entry has one, else in response order. */
function inOrder(entries: readonly unknown[]): readonly unknown[] {
  const indexOf = (entry: unknown) => memberOf(entry, "index");
  return entries.every((entry) => typeof indexOf(entry) === "number")
    ? entries.toSorted((a, b) => (indexOf(a) as number) - (indexOf(b) as number))
    : entries;
}

/** The creation time of the response, in Unix seconds. */
export function createdIn(response: unknown, name = "created"): { readonly created?: number } {
  const created = memberOf(response, name);
  return Number.isSafeInteger(created) ? { created: created as number } : {};
}

/** The revised prompt, if the vendor changed the prompt. */
export const revised = (
  prompt: unknown,
  { query }: ImageRequestContext,
): Pick<ImageResult, "revised_prompt"> =>
  typeof prompt === "string" && prompt !== "" && prompt !== query.prompt
    ? { revised_prompt: prompt }
    : {};

/** A member of a response that should be an image. Undefined if it is not a text. */
export function imageContentIn(value: unknown): ImageContent | undefined {
  if (value instanceof LongText) return spilledImage(value);
  if (typeof value !== "string" || value === "") return undefined;
  if (isHttpUrl(value)) return { kind: "url", url: value };
  return { kind: "base64", base64: bareBase64(value) };
}

/** A member of an event with the image itself. Whether it is a valid image is checked later. */
export function loadedImageIn(value: unknown): LoadedImage | undefined {
  if (value instanceof LongText) return spilledImage(value);
  return typeof value === "string" ? { kind: "base64", base64: bareBase64(value) } : undefined;
}

const spilledImage = (text: LongText): LoadedImage => ({
  kind: "spilled",
  spilled: text.after(prefixOf(text.start)),
});

/** Base64 without the `data:image/png;base64,` that some upstreams put before it and OpenAI's clients do not expect. */
export const bareBase64 = (text: string): string =>
  text.slice(prefixOf(Buffer.from(text.slice(0, 128))));

/** The length of a data URL's prefix; 0 if there is none. */
function prefixOf(start: Uint8Array): number {
  const text = Buffer.from(start).toString("latin1");
  return isDataUrl(text) ? text.indexOf(",") + 1 : 0;
}
