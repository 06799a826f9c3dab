/** Reads responses with the images in a list called `data`, as OpenAI's; vendors add their own fields. */
import type { ImageRequestContext, UpstreamResponse } from "../../adapter.ts";
import type { BufferedImageResponse, GenerationQuery, ImageResult } from "../../contract.ts";
import { readDocument } from "./document.ts";
import { imageContentIn } from "./image-content.ts";
import { invalidResponse, listIn, memberOf } from "./members.ts";
import { toMappedError } from "./native-errors.ts";

export interface ImageListOptions {
  /** Where the list has another name. */
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
  context: ImageRequestContext<GenerationQuery>,
  listed: ImageListOptions = {},
): Promise<BufferedImageResponse> =>
  imageListIn(await readDocument(response, context.temp), context, listed);

/** Images that passed the filter are delivered, because they are billed; if none did, the request was refused. */
export function imageListIn(
  response: unknown,
  context: ImageRequestContext<GenerationQuery>,
  {
    list = "data",
    isWithheld = () => false,
    entryFields = () => ({}),
    responseFields = () => ({}),
  }: ImageListOptions,
): BufferedImageResponse {
  const entries = inOrder(listIn(response, list));
  const shown = entries.filter((entry) => !isWithheld(entry));
  if (shown.length === 0 && entries.length > 0)
    throw toMappedError("moderated", undefined, context);
  return {
    kind: "buffered",
    results: shown.map((entry) => {
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
  { query }: ImageRequestContext<GenerationQuery>,
): Pick<ImageResult, "revised_prompt"> =>
  typeof prompt === "string" && prompt !== "" && prompt !== query.prompt
    ? { revised_prompt: prompt }
    : {};
