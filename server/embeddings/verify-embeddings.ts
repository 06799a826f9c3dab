/** Step 13: is it true? What an upstream claims is checked before a caller may believe it. */
import { GatewayError } from "../lib/gateway-error.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  ImageEvent,
  ImageReply,
  Picture,
  Vector,
} from "../upstream/contract.ts";
import { typeOf } from "../images/image-head.ts";
import { inspect } from "./vector-formats.ts";

export const lie = (message: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's answer is not usable: ${message}.`);

export function verifyEmbeddings(
  reply: EmbeddingsReply,
  query: EmbeddingsQuery,
  nativeDimensions: number | undefined,
): EmbeddingsReply {
  const { input, dimensions } = query;
  const asked = input.kind === "text" ? input.texts.length : input.tokens.length;
  if (reply.vectors.length !== asked) {
    throw lie(`${reply.vectors.length} vectors for ${asked} inputs`);
  }
  let length = dimensions ?? nativeDimensions;
  const { vectors } = reply;
  for (let at = 0; at < vectors.length; at++) {
    const seen = inspect(vectors[at] as Vector);
    if (!seen) throw lie(`vector ${at} is not base64 of float32 numbers`);
    length ??= seen.length;
    if (seen.length !== length || length === 0) {
      throw lie(`vector ${at} has ${seen.length} dimensions instead of ${length}`);
    }
    if (seen.soundness === "sound") continue;
    throw lie(
      seen.soundness === "zero"
        ? `vector ${at} is all zeros`
        : `vector ${at} holds something that is not a number`,
    );
  }
  return reply;
}

export function verifyImages(reply: ImageReply): ImageReply {
  if (reply.kind === "stream") return { kind: "stream", events: verifyEvents(reply.events) };
  if (reply.results.length === 0) throw lie("no picture");
  for (const result of reply.results) checkPicture(result.image);
  return reply;
}

/** Finished pictures are looked at one by one when they are handed over: one that is none does not take the others along. */
async function* verifyEvents(events: AsyncIterable<ImageEvent>): AsyncIterable<ImageEvent> {
  let completed = 0;
  for await (const event of events) {
    if (event.type === "whole") completed += event.reply.results.length;
    else if (event.type === "completed") completed++;
    // A preview is a present: without it the picture comes all the same.
    else if (typeOf(event.image) === undefined) continue;
    yield event;
  }
  if (completed === 0) throw lie("the stream ended before the picture was complete");
}

function checkPicture(image: Picture): void {
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url)) throw lie("a link that is not a link");
  } else if (typeOf(image) === undefined) throw lie("its picture is not a picture");
}
