/** Step 13: is it true? What an upstream claims is checked before a caller may believe it. */
import { GatewayError } from "../std/gateway-error.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  ImageEvent,
  ImageReply,
  Picture,
  Vector,
} from "../upstream/contract.ts";
import { typeOf } from "./pictures/look.ts";
import { glance } from "./vectors.ts";

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
  for (const [at, vector] of reply.vectors.entries()) {
    const floats = typeof vector === "string" ? glance(vector) : vector;
    if (!floats) throw lie(`vector ${at} is not base64 of float32 numbers`);
    length ??= floats.length;
    if (floats.length !== length || length === 0) {
      throw lie(`vector ${at} has ${floats.length} dimensions instead of ${length}`);
    }
    checkNumbers(floats, at);
  }
  return reply;
}

/**
 * Finite and not all zero, in one number: the sum of the squares tells both, and float32 squared never leaves the
 * range of a double. Four sums at a time, as one would wait for itself.
 */
function squares(floats: Float32Array): number {
  const whole = floats.length - (floats.length % 4);
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    a += (floats[i] as number) ** 2;
    b += (floats[i + 1] as number) ** 2;
    c += (floats[i + 2] as number) ** 2;
    d += (floats[i + 3] as number) ** 2;
  }
  for (let i = whole; i < floats.length; i++) a += (floats[i] as number) ** 2;
  return a + b + c + d;
}

/** As float32, which is what every caller makes of them in the end. */
function squaresOf(numbers: readonly unknown[]): number {
  let sum = 0;
  for (const number of numbers) {
    if (typeof number !== "number") return Number.NaN;
    sum += Math.fround(number) ** 2;
  }
  return sum;
}

function checkNumbers(floats: Exclude<Vector, string>, at: number): void {
  const sum = floats instanceof Float32Array ? squares(floats) : squaresOf(floats);
  if (!Number.isFinite(sum)) throw lie(`vector ${at} holds something that is not a number`);
  if (sum === 0) throw lie(`vector ${at} is all zeros`);
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
    else if (typeOf({ kind: "base64", base64: event.base64 }) === undefined) continue;
    yield event;
  }
  if (completed === 0) throw lie("the stream ended before the picture was complete");
}

function checkPicture(image: Picture): void {
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url)) throw lie("a link that is not a link");
  } else if (typeOf(image) === undefined) throw lie("its picture is not a picture");
}
