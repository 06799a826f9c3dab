/**
 * What an upstream says that it counted is what callers are charged, so it is believed only up to what can be: one absurd
 * number must not use up a month's budget. What cannot be is left out, and is then unknown; nobody makes another up.
 */
import type {
  BufferedImageResponse,
  EditQuery,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  ImageUsage,
} from "../upstream/contract.ts";

/** For the log. */
export interface Disbelieved {
  readonly what: "input tokens" | "tokens" | "cost";
  readonly told: number;
  /** What would have been believed. */
  readonly most: number;
}

export type OnDisbelieved = (told: Disbelieved) => void;

/** Of each text: signs around it, and the instructions that some models put before it. */
const aroundText = 256;
/** Of tokens that a target reads as text, with another vocabulary. */
const perToken = 16;

/** `call` is handed on as it is: most calls have nothing to tell, and need no function made for it. */
export function believedEmbeddings<C extends { readonly query: Pick<EmbeddingsQuery, "input"> }>(
  reply: EmbeddingsResponse,
  call: C,
  onDisbelieved: (call: C, told: Disbelieved) => void,
): EmbeddingsResponse {
  const told = reply.usage?.inputTokens;
  // Nearly all calls go no further than this.
  if (told === undefined || (told >= 0 && told <= aroundText)) return reply;
  const most = mostTokens(call.query.input, told);
  if (told >= 0 && told <= most) return reply;
  onDisbelieved(call, { what: "input tokens", told, most });
  // What was going to be passed on as it came says the same.
  const { usage: _, verbatim: __, ...rest } = reply;
  return rest;
}

/** Twice what a vocabulary of bytes can make of a text: what is unusual in it may be spelled out first. */
function mostTokens(input: EmbeddingInput, told: number): number {
  if (input.kind === "tokens") {
    const counted = input.tokens.reduce((sum, { length }) => sum + length, 0);
    return aroundText * input.tokens.length + perToken * counted;
  }
  const around = aroundText * input.texts.length;
  // A text has at least so many bytes, and they need not be counted where that is enough.
  const signs = input.texts.reduce((sum, { length }) => sum + length, 0);
  if (told <= around + signs) return around + signs;
  return around + 2 * input.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** What a model reads beside the prompt: instructions, and a prompt that was written anew. */
const aroundPrompt = 16_384;
/** Of a picture that is shown. The most that anyone documents is 6,821: see `image-tokens.ts`. */
const perShown = 16_384;
/** Of a picture that is drawn, with what was thought about it: Google ends an answer at 32,768, a picture is below 15,000. */
const perDrawn = 65_536;
/** US dollars. No vendor lists a picture at a tenth of it. */
const dollarsPerPicture = 10;

export function believedImages(
  reply: ImageResponse,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnDisbelieved,
): ImageResponse {
  return reply.kind === "stream"
    ? { kind: "stream", events: believedEvents(reply.events, query, onDisbelieved) }
    : believedWhole(reply, query, onDisbelieved);
}

async function* believedEvents(
  events: AsyncIterable<ImageEvent>,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnDisbelieved,
): AsyncGenerator<ImageEvent> {
  for await (const event of events) {
    if (event.type === "whole") {
      yield { type: "whole", reply: believedWhole(event.reply, query, onDisbelieved) };
    } else if (isBelievable(event.usage, query, 1, onDisbelieved)) yield event;
    else {
      const { usage: _, ...frame } = event;
      yield frame;
    }
  }
}

export function believedWhole(
  reply: BufferedImageResponse,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnDisbelieved,
): BufferedImageResponse {
  const { usage, cost, ...rest } = reply;
  const pictures = Math.max(1, reply.results.length, query.options.n ?? 1);
  const most = pictures * dollarsPerPicture;
  const isCost = cost === undefined || cost <= most;
  const isUsage = isBelievable(usage, query, pictures, onDisbelieved);
  if (isCost && isUsage) return reply;
  if (!isCost) onDisbelieved({ what: "cost", told: cost, most });
  return {
    ...rest,
    ...(isUsage && usage && { usage }),
    ...(isCost && cost !== undefined && { cost }),
  };
}

function isBelievable(
  usage: ImageUsage | undefined,
  query: GenerationQuery | EditQuery,
  pictures: number,
  onDisbelieved: OnDisbelieved,
): boolean {
  if (!usage) return true;
  const shown = "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;
  const read = aroundPrompt + 2 * Buffer.byteLength(query.prompt) + shown * perShown;
  const most = pictures * (read + perDrawn);
  const told = Math.max(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  if (told <= most) return true;
  onDisbelieved({ what: "tokens", told, most });
  return false;
}
