/**
 * Plausibility check of reported usage: clients are charged for the usage that an upstream reports, so one absurd
 * number must not use up a month's budget. Usage above the possible maximum is dropped: the usage is unknown then,
 * never a guess.
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

export type OnImplausibleUsage = (usage: ImplausibleUsage) => void;

/** Tokens per text besides those of the text itself: special tokens, and the instructions that some models prepend. */
const aroundText = 256;
/** Reported tokens per input token, for a target that reads the tokens as text with another vocabulary. */
const perToken = 16;

/** `request` is passed to the callback, so that the usual request creates no closure. */
export function dropImplausibleEmbeddingsUsage<
  C extends { readonly query: Pick<EmbeddingsQuery, "input"> },
>(
  response: EmbeddingsResponse,
  request: C,
  onImplausibleUsage: (request: C, usage: ImplausibleUsage) => void,
): EmbeddingsResponse {
  const { inputTokens, totalTokens } = response.usage ?? {};
  const reported =
    inputTokens === undefined || totalTokens === undefined
      ? inputTokens
      : Math.max(inputTokens, totalTokens);
  // Nearly all requests return here.
  if (reported === undefined || (reported >= 0 && reported <= aroundText)) return response;
  const max = maxTokens(request.query.input, reported);
  if (reported >= 0 && reported <= max) return response;
  onImplausibleUsage(request, { what: "input tokens", reported, max });
  // The verbatim body contains the same implausible usage, so it is not passed on either.
  const { usage: _, verbatim: __, ...others } = response;
  return others;
}

/** Upper bound: two tokens per byte, because normalization may expand unusual characters. */
function maxTokens(input: EmbeddingInput, reported: number): number {
  if (input.kind === "tokens") {
    const counted = input.tokens.reduce((sum, { length }) => sum + length, 0);
    return aroundText * input.tokens.length + perToken * counted;
  }
  const around = aroundText * input.texts.length;
  // A text has at least as many bytes as characters; if that is enough, the bytes need not be counted.
  const characters = input.texts.reduce((sum, { length }) => sum + length, 0);
  if (reported <= around + characters) return around + characters;
  return around + 2 * input.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** Input tokens besides the prompt: instructions, and a revised prompt. */
const aroundPrompt = 16_384;
/** Tokens per input image. The most that any vendor documents is 6,821: see `image-tokens.ts`. */
const perInputImage = 16_384;
/** Tokens per output image, including reasoning: Google ends a response at 32,768, an image takes less than 15,000. */
const perOutputImage = 65_536;
/** US dollars per image. No vendor's list price reaches a tenth of this amount. */
const dollarsPerImage = 10;

export function dropImplausibleImageUsage(
  response: ImageResponse,
  query: GenerationQuery | EditQuery,
  onImplausibleUsage: OnImplausibleUsage,
): ImageResponse {
  return response.kind === "stream"
    ? {
        kind: "stream",
        events: dropImplausibleEventUsage(response.events, query, onImplausibleUsage),
      }
    : dropImplausibleBufferedUsage(response, query, onImplausibleUsage);
}

async function* dropImplausibleEventUsage(
  events: AsyncIterable<ImageEvent>,
  query: GenerationQuery | EditQuery,
  onImplausibleUsage: OnImplausibleUsage,
): AsyncGenerator<ImageEvent> {
  for await (const event of events) {
    if (event.type === "buffered") {
      yield {
        type: "buffered",
        response: dropImplausibleBufferedUsage(event.response, query, onImplausibleUsage),
      };
    } else if (isPlausible(event.usage, query, 1, onImplausibleUsage)) yield event;
    else {
      const { usage: _, ...frame } = event;
      yield frame;
    }
  }
}

export function dropImplausibleBufferedUsage(
  response: BufferedImageResponse,
  query: GenerationQuery | EditQuery,
  onImplausibleUsage: OnImplausibleUsage,
): BufferedImageResponse {
  const { usage, cost, ...others } = response;
  const imageCount = Math.max(1, response.results.length, query.options.n ?? 1);
  const max = imageCount * dollarsPerImage;
  const isCostPlausible = cost === undefined || cost <= max;
  const isUsagePlausible = isPlausible(usage, query, imageCount, onImplausibleUsage);
  if (isCostPlausible && isUsagePlausible) return response;
  if (!isCostPlausible) onImplausibleUsage({ what: "cost", reported: cost, max });
  return {
    ...others,
    ...(isUsagePlausible && usage && { usage }),
    ...(isCostPlausible && cost !== undefined && { cost }),
  };
}

function isPlausible(
  usage: ImageUsage | undefined,
  query: GenerationQuery | EditQuery,
  imageCount: number,
  onImplausibleUsage: OnImplausibleUsage,
): boolean {
  if (!usage) return true;
  const inputImages = "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;
  const inputTokens =
    aroundPrompt + 2 * Buffer.byteLength(query.prompt) + inputImages * perInputImage;
  const max = imageCount * (inputTokens + perOutputImage);
  const reported = Math.max(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  if (reported <= max) return true;
  onImplausibleUsage({ what: "tokens", reported, max });
  return false;
}
