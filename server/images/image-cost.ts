/**
 * Charges a request for generated images: at once for a buffered response, image by image for a stream. If the cost of
 * one image is unknown, so is the sum, and the estimate is charged.
 */

import { estimateImagesAt } from "../limits/estimate-cost.ts";
import { sumOfKnown } from "../request/request-record.ts";
import type { RequestReport } from "../request/request-report.ts";
import { listedImagePrice } from "../upstream/catalog/prices/model-price.ts";
import { costOf, type Split } from "../upstream/catalog/prices/request-cost.ts";
import type {
  BufferedImageResponse,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageMetadata,
  ImageOperation,
  ImageResponse,
  ImageUsage,
  StreamedImage,
  Target,
} from "../upstream/contract.ts";

export interface UpstreamImageRequest {
  readonly operation: ImageOperation;
  readonly target: Target;
  /** The request as sent to the target. */
  readonly query: GenerationQuery;
  readonly report: RequestReport;
}

/**
 * Returns the same response and reports its cost: that of a stream when it ends. `unusable`: events of a stream that
 * were unusable; they are billed too.
 */
export function reportCost(
  response: ImageResponse,
  request: UpstreamImageRequest,
  unusable: readonly ImageEvent[] = [],
): ImageResponse {
  if (response.kind === "stream")
    return { ...response, events: reportStreamCost(response.events, request, unusable) };
  chargeImages(request, "yes", imagesIn(response), responseCost(response, request));
  return response;
}

/** `images`: how many were generated, or may have been. `cost`: undefined if it is unknown. */
export function chargeImages(
  { operation, target, query, report }: UpstreamImageRequest,
  billed: "yes" | "maybe",
  images: number,
  cost?: number,
): void {
  const counted = { ...query, options: { ...query.options, n: images } };
  const estimate = cost === undefined ? estimateImagesAt(target, operation, counted) : undefined;
  report.addCharge({ target, billed, cost, estimate });
}

async function* reportStreamCost(
  events: AsyncIterable<ImageEvent>,
  request: UpstreamImageRequest,
  unusable: readonly ImageEvent[],
): AsyncGenerator<ImageEvent> {
  let sum: number | undefined;
  let imageCount = 0;
  let isAbandoned = true;
  const add = (event: ImageEvent): void => {
    if (event.type === "partial") return;
    const cost =
      event.type === "buffered"
        ? responseCost(event.response, request)
        : imageCost(event, 1, withOutputDetails(event), request);
    sum = imageCount++ === 0 ? cost : sumOfKnown(sum, cost);
  };
  try {
    for await (const event of events) {
      add(event);
      yield event;
    }
    isAbandoned = false;
  } catch (error) {
    // As for a buffered response with missing images: the cost is that of the generated images.
    isAbandoned = false;
    throw error;
  } finally {
    for (const event of unusable) add(event);
    // The cost of a stream that was not read to its end is unknown: all of its images may have been generated.
    if (isAbandoned) chargeImages(request, "yes", request.query.options.n ?? 1);
    else if (imageCount > 0) chargeImages(request, "yes", imageCount, sum);
  }
}

/**
 * OpenAI's specification, ImagesUsage: in a stream, `output_tokens` is "the number of image tokens in the output
 * image".
 */
function withOutputDetails({ usage }: StreamedImage): ImageUsage | undefined {
  if (!usage || usage.output_tokens_details) return usage;
  const details = { text_tokens: 0, image_tokens: usage.output_tokens };
  return { ...usage, output_tokens_details: details };
}

const imagesIn = ({ results, generated = results.length }: BufferedImageResponse): number =>
  generated;

function responseCost(
  response: BufferedImageResponse,
  request: UpstreamImageRequest,
): number | undefined {
  const { results, metadata, usage, cost } = response;
  // The size of an image behind a link is not known here: the requested size, or the vendor's default, is assumed.
  const isUninspected =
    metadata.size === undefined && results.every(({ image }) => image.kind === "url");
  const size = isUninspected ? requestedSize(request) : undefined;
  const metadataWithSize = size === undefined ? metadata : { ...metadata, size };
  return imageCost(metadataWithSize, imagesIn(response), usage, request, cost);
}

/**
 * The size that was requested from the target. A target that takes only aspect ratios got the resolution class of the
 * client's size, which is enough for a price per class. For a price per megapixel the size is unknown, because the
 * target chooses the exact pixels.
 */
function requestedSize(request: UpstreamImageRequest): string | undefined {
  const { options, requestedSize: clientSize } = request.query;
  return options.size ?? (priceOf(request)?.megapixel === undefined ? clientSize : undefined);
}

const priceOf = ({ operation, target, query }: UpstreamImageRequest) =>
  target.price ?? listedImagePrice(target, { operation, extraFields: query.extraFields });

function imageCost(
  { size, quality }: ImageMetadata,
  images: number,
  usage: ImageUsage | undefined,
  request: UpstreamImageRequest,
  reportedCost?: number,
): number | undefined {
  const { operation, target } = request;
  const cost = costOf(priceOf(request), {
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    input: usage && inputSplit(usage, operation),
    output: usage && readSplit(usage.output_tokens, usage.output_tokens_details),
    images,
    size,
    quality: quality === "auto" ? undefined : quality,
    reportedCost,
  });
  return cost === undefined ? undefined : cost * (target.priceFactor ?? 1);
}

/** Without source images all input is text, whether the details say so or not. */
const inputSplit = (
  usage: ImageUsage,
  operation: UpstreamImageRequest["operation"],
): Split | undefined =>
  usage.input_tokens_details === undefined && operation === "generations"
    ? { text: usage.input_tokens, image: 0 }
    : readSplit(usage.input_tokens, usage.input_tokens_details);

/**
 * The text and image tokens. Undefined if they do not add up to the total, or if some were cached: cached tokens
 * have a different price, which is not reported.
 */
function readSplit(total: number, details: ExtraFields | undefined): Split | undefined {
  if (!details) return undefined;
  const { text_tokens: text, image_tokens: image, cached_tokens: cached = 0 } = details;
  if (typeof text !== "number" || typeof image !== "number" || cached !== 0) return undefined;
  return text >= 0 && image >= 0 && text + image === total ? { text, image } : undefined;
}
