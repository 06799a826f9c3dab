/** Answers that are the picture itself, and not a text with a picture in it. */
import type { Asked, WireReply } from "../../adapter.ts";
import { gatherPicture } from "../../collect-image.ts";
import type { GenerationQuery, Picture, WholeReply } from "../../contract.ts";
import { readDocument } from "./document.ts";
import { refused } from "./native-fault.ts";

const typeOf = ({ headers }: WireReply): string => headers.get("content-type") ?? "";

export const isPicture = (reply: WireReply): boolean => /^image\//i.test(typeOf(reply));

/** What else there is to say stands in headers: Stability has it so, and Fireworks took it over. */
export async function readBarePicture(
  reply: WireReply,
  asked: Asked<GenerationQuery>,
): Promise<WholeReply> {
  const { headers } = reply;
  const image = await gatherPicture(reply.chunks(), asked.scratch);
  // A filtered picture comes all the same, blurred or black.
  if (isFiltered(headers.get("finish-reason"))) throw refused("moderated", undefined, asked);
  const seed = headers.get("seed");
  const told = seed !== null && /^\d{1,15}$/.test(seed) && { rest: { seed: Number(seed) } };
  return { kind: "whole", results: [{ image, ...told }], facts: {} };
}

export const isFiltered = (reason: unknown): boolean => /^content_filtered$/i.test(String(reason));

/** One picture: the body, or where that is JSON, what `find` finds in it. */
export async function readOnePicture(
  reply: WireReply,
  { scratch }: Asked<GenerationQuery>,
  find: (answer: unknown) => Picture,
): Promise<WholeReply> {
  const image = /\bjson\b/i.test(typeOf(reply))
    ? find(await readDocument(reply, scratch))
    : await gatherPicture(reply.chunks(), scratch);
  return { kind: "whole", results: [{ image }], facts: {} };
}
