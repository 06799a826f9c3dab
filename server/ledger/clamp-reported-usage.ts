/**
 * Plausibility check of reported usage: clients are charged what an upstream reports, so one absurd number must not use up
 * a month's budget. Usage above the possible maximum is dropped and then unknown; it is never replaced by a guess.
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
export interface ImplausibleUsage {
  readonly what: "input tokens" | "tokens" | "cost";
  readonly reported: number;
  /** The highest plausible value. */
  readonly max: number;
}

export type OnImplausibleUsage = (told: ImplausibleUsage) => void;

/** Of each text: signs around it, and the instructions that some models put before it. */
const aroundText = 256;
/** Of tokens that a target reads as text, with another vocabulary. */
const perToken = 16;

/** `call` is handed on as it is: most calls have nothing to tell, and need no function made for it. */
export function clampEmbeddingsUsage<C extends { readonly query: Pick<EmbeddingsQuery, "input"> }>(
  reply: EmbeddingsResponse,
  call: C,
  onDisbelieved: (call: C, told: ImplausibleUsage) => void,
): EmbeddingsResponse {
  const told = reply.usage?.inputTokens;
  // Nearly all requests stop here.
  if (told === undefined || (told >= 0 && told <= aroundText)) return reply;
  const most = mostTokens(call.query.input, told);
  if (told >= 0 && told <= most) return reply;
  onDisbelieved(call, { what: "input tokens", reported: told, max: most });
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
const perInputImage = 16_384;
/** Of a picture that is drawn, with what was thought about it: Google ends an answer at 32,768, a picture is below 15,000. */
const perOutputImage = 65_536;
/** US dollars. No vendor lists a picture at a tenth of it. */
const dollarsPerImage = 10;

export function clampImageUsage(
  reply: ImageResponse,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnImplausibleUsage,
): ImageResponse {
  return reply.kind === "stream"
    ? { kind: "stream", events: clampEventUsage(reply.events, query, onDisbelieved) }
    : clampWholeUsage(reply, query, onDisbelieved);
}

async function* clampEventUsage(
  events: AsyncIterable<ImageEvent>,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnImplausibleUsage,
): AsyncGenerator<ImageEvent> {
  for await (const event of events) {
    if (event.type === "whole") {
      yield { type: "whole", reply: clampWholeUsage(event.reply, query, onDisbelieved) };
    } else if (isPlausible(event.usage, query, 1, onDisbelieved)) yield event;
    else {
      const { usage: _, ...frame } = event;
      yield frame;
    }
  }
}

export function clampWholeUsage(
  reply: BufferedImageResponse,
  query: GenerationQuery | EditQuery,
  onDisbelieved: OnImplausibleUsage,
): BufferedImageResponse {
  const { usage, cost, ...rest } = reply;
  const pictures = Math.max(1, reply.results.length, query.options.n ?? 1);
  const most = pictures * dollarsPerImage;
  const isCost = cost === undefined || cost <= most;
  const isUsage = isPlausible(usage, query, pictures, onDisbelieved);
  if (isCost && isUsage) return reply;
  if (!isCost) onDisbelieved({ what: "cost", reported: cost, max: most });
  return {
    ...rest,
    ...(isUsage && usage && { usage }),
    ...(isCost && cost !== undefined && { cost }),
  };
}

function isPlausible(
  usage: ImageUsage | undefined,
  query: GenerationQuery | EditQuery,
  pictures: number,
  onDisbelieved: OnImplausibleUsage,
): boolean {
  if (!usage) return true;
  const shown = "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;
  const read = aroundPrompt + 2 * Buffer.byteLength(query.prompt) + shown * perInputImage;
  const most = pictures * (read + perOutputImage);
  const told = Math.max(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  if (told <= most) return true;
  onDisbelieved({ what: "tokens", reported: told, max: most });
  return false;
}
