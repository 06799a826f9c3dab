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
  /** The vendor's filter has held this picture back. */
  readonly withheld?: (entry: unknown) => boolean;
  /** What is told of one picture besides the picture. */
  readonly told?: (entry: unknown) => Pick<ImageResult, "revised_prompt" | "rest">;
  /** What is told of all of them. */
  readonly about?: (
    answer: unknown,
  ) => Pick<BufferedImageResponse, "created" | "cost" | "usage" | "rest">;
}

export const readImageList = async (
  reply: UpstreamResponse,
  asked: ImageRequestContext<GenerationQuery>,
  listed: ImageListOptions = {},
): Promise<BufferedImageResponse> =>
  imageListIn(await readDocument(reply, asked.temp), asked, listed);

/** Pictures that passed the filter are delivered, as they are paid for; where none did, the whole call was refused. */
export function imageListIn(
  answer: unknown,
  asked: ImageRequestContext<GenerationQuery>,
  {
    list = "data",
    withheld = () => false,
    told = () => ({}),
    about = () => ({}),
  }: ImageListOptions,
): BufferedImageResponse {
  const entries = inOrder(listIn(answer, list));
  const shown = entries.filter((entry) => !withheld(entry));
  if (shown.length === 0 && entries.length > 0) throw toMappedError("moderated", undefined, asked);
  return {
    kind: "whole",
    results: shown.map((entry) => {
      const image = imageIn(entry);
      if (!image) throw invalidResponse("an entry has neither `b64_json` nor `url`");
      return { image, ...told(entry) };
    }),
    metadata: {},
    ...about(answer),
  };
}

/** The picture of an entry, the bytes before the link. */
export const imageIn = (entry: unknown): ImageResult["image"] | undefined =>
  imageContentIn(memberOf(entry, "b64_json")) ?? imageContentIn(memberOf(entry, "url"));

/** By `index` where every entry has one; else as they came. */
function inOrder(entries: readonly unknown[]): readonly unknown[] {
  const placeOf = (entry: unknown) => memberOf(entry, "index");
  return entries.every((entry) => typeof placeOf(entry) === "number")
    ? entries.toSorted((a, b) => (placeOf(a) as number) - (placeOf(b) as number))
    : entries;
}

/** When it was made, in Unix seconds. */
export function createdIn(answer: unknown, name = "created"): { readonly created?: number } {
  const created = memberOf(answer, name);
  return Number.isSafeInteger(created) ? { created: created as number } : {};
}

/** What the vendor made of the prompt, where it made something of it. */
export const revised = (
  prompt: unknown,
  { query }: ImageRequestContext<GenerationQuery>,
): Pick<ImageResult, "revised_prompt"> =>
  typeof prompt === "string" && prompt !== "" && prompt !== query.prompt
    ? { revised_prompt: prompt }
    : {};
