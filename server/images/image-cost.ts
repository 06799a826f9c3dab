/** What drawing cost: of a whole answer at once, of a stream picture by picture. Where one is not known, the sum is not. */

import { costOf, type Split } from "../ledger/cost.ts";
import type { Trip } from "../request/request-record.ts";
import { listedImagePrice } from "../upstream/catalog/prices/index.ts";
import type {
  BufferedImageResponse,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageMetadata,
  ImageResponse,
  ImageUsage,
  StreamedImage,
  Target,
} from "../upstream/contract.ts";

export interface UpstreamImageRequest {
  readonly operation: "generations" | "edits";
  readonly target: Target;
  /** What the target was asked for. */
  readonly query: GenerationQuery;
  readonly trip: Trip;
}

/**
 * The same answer; as it goes by, what it cost is written into the trip. `spoilt`: what came of a stream and could not be
 * used. It is paid for as well.
 */
export function recordCost(
  reply: ImageResponse,
  ordered: UpstreamImageRequest,
  spoilt: readonly ImageEvent[] = [],
): ImageResponse {
  const { trip } = ordered;
  trip.cost = undefined;
  if (reply.kind === "stream") {
    return { kind: "stream", events: recordStreamCost(reply.events, ordered, spoilt) };
  }
  trip.cost = responseCost(reply, ordered);
  return reply;
}

async function* recordStreamCost(
  events: AsyncIterable<ImageEvent>,
  ordered: UpstreamImageRequest,
  spoilt: readonly ImageEvent[],
): AsyncGenerator<ImageEvent> {
  const { trip } = ordered;
  let sum: number | undefined;
  let pictures = 0;
  let left = true;
  const add = (event: ImageEvent): void => {
    if (event.type === "partial") return;
    const cost =
      event.type === "whole"
        ? responseCost(event.reply, ordered)
        : imageCost(event, 1, withOutputDetails(event), ordered);
    if (pictures++ === 0) sum = cost;
    else sum = sum === undefined || cost === undefined ? undefined : sum + cost;
  };
  try {
    for await (const event of events) {
      add(event);
      yield event;
    }
    left = false;
  } catch (error) {
    // As of a whole answer of which some is missing: what was drawn is what it costs.
    left = false;
    throw error;
  } finally {
    for (const event of spoilt) add(event);
    // Nobody knows what a stream costs that was not read to its end.
    trip.cost = left ? undefined : sum;
  }
}

/** OpenAI's specification, ImagesUsage: in a stream, what comes out is "the number of image tokens in the output image". */
function withOutputDetails({ usage }: StreamedImage): ImageUsage | undefined {
  if (!usage || usage.output_tokens_details) return usage;
  const drawn = { text_tokens: 0, image_tokens: usage.output_tokens };
  return { ...usage, output_tokens_details: drawn };
}

function responseCost(
  reply: BufferedImageResponse,
  ordered: UpstreamImageRequest,
): number | undefined {
  const { results, generated: drawn = results.length, metadata: facts, usage, cost } = reply;
  // The size of an image behind a link is not seen here: it is the requested one, or the vendor's default.
  const unseen = facts.size === undefined && results.every(({ image }) => image.kind === "url");
  const size = unseen ? requestedSize(ordered) : undefined;
  const seen = size === undefined ? facts : { ...facts, size };
  return imageCost(seen, drawn, usage, ordered, cost);
}

/**
 * A target that takes aspect ratios was asked for the resolution class of `wanted`, which is what a price per class needs.
 * Its exact pixels are its own, so a price per megapixel cannot be computed from it.
 */
function requestedSize(ordered: UpstreamImageRequest): string | undefined {
  const { options, requestedSize: wanted } = ordered.query;
  return options.size ?? (priceOf(ordered)?.megapixel === undefined ? wanted : undefined);
}

const priceOf = ({ operation, target, query }: UpstreamImageRequest) =>
  target.price ?? listedImagePrice(target, { operation, rest: query.rest });

function imageCost(
  { size, quality }: ImageMetadata,
  images: number,
  usage: ImageUsage | undefined,
  ordered: UpstreamImageRequest,
  told?: number,
): number | undefined {
  const { operation } = ordered;
  return costOf(priceOf(ordered), {
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    input: usage && inputSplit(usage, operation),
    output: usage && readSplit(usage.output_tokens, usage.output_tokens_details),
    images,
    size,
    quality: quality === "auto" ? undefined : quality,
    told,
  });
}

/** A prompt alone is text, whether that is said or not. */
const inputSplit = (
  usage: ImageUsage,
  operation: UpstreamImageRequest["operation"],
): Split | undefined =>
  usage.input_tokens_details === undefined && operation === "generations"
    ? { text: usage.input_tokens, image: 0 }
    : readSplit(usage.input_tokens, usage.input_tokens_details);

/** Believed where the parts are all of it. What was read before has another price, which nobody tells. */
function readSplit(total: number, details: ExtraFields | undefined): Split | undefined {
  if (!details) return undefined;
  const { text_tokens: text, image_tokens: image, cached_tokens: cached = 0 } = details;
  if (typeof text !== "number" || typeof image !== "number" || cached !== 0) return undefined;
  return text >= 0 && image >= 0 && text + image === total ? { text, image } : undefined;
}
