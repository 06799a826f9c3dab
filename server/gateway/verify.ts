/** Step 13: is it true? What an upstream claims is checked before a caller may believe it. */
import { GatewayError } from "../std/gateway-error.ts";
import { sniffImage, sniffLength } from "../std/sniff.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  ImageEvent,
  ImageReply,
  ImageResult,
  Vector,
} from "../upstream/contract.ts";
import { glance } from "./vectors.ts";

const lie = (message: string): GatewayError =>
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

/** As float32, which is what every caller makes of them in the end. */
function checkNumbers(floats: Exclude<Vector, string>, at: number): void {
  let anything = false;
  for (let i = 0; i < floats.length; i++) {
    const number = floats[i] as number;
    if (typeof number !== "number" || !Number.isFinite(Math.fround(number))) {
      throw lie(`vector ${at} holds something that is not a number`);
    }
    if (Math.fround(number) !== 0) anything = true;
  }
  if (!anything) throw lie(`vector ${at} is all zeros`);
}

export function verifyImages(reply: ImageReply): ImageReply {
  if (reply.kind === "stream") return { kind: "stream", events: verifyEvents(reply.events) };
  if (reply.results.length === 0) throw lie("no picture");
  for (const result of reply.results) checkPicture(result.image);
  return reply;
}

async function* verifyEvents(events: AsyncIterable<ImageEvent>): AsyncIterable<ImageEvent> {
  let completed = 0;
  for await (const event of events) {
    checkPicture({ kind: "base64", base64: event.base64 });
    if (event.type === "completed") completed++;
    yield event;
  }
  if (completed === 0) throw lie("the stream ended before the picture was complete");
}

const svgStart = /^\s*(<\?xml|<svg)/;

function checkPicture(image: ImageResult["image"]): void {
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url)) throw lie("a link that is not a link");
    return;
  }
  // base64 carries three bytes in four characters: enough to see the first ones.
  const start =
    image.kind === "bytes"
      ? image.bytes.subarray(0, sniffLength)
      : Buffer.from(image.base64.slice(0, Math.ceil(sniffLength / 3) * 4), "base64");
  if (!sniffImage(start) && !svgStart.test(Buffer.from(start).toString("latin1"))) {
    throw lie("its picture is not a picture");
  }
}
