/**
 * Post-processes images between the upstream and the client: downloads and converts them, and reads their metadata from
 * their bytes.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { isImageUrl } from "../lib/url-scheme.ts";
import type {
  BufferedImageResponse,
  ImageContent,
  ImageEvent,
  ImageMetadata,
  ImageResponse,
  ImageResult,
  LoadedImage,
  StreamedImage,
} from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { markMayBeBilled } from "../upstream/may-have-been-billed.ts";
import { checkTruncation } from "./check-truncation.ts";
import {
  type ConversionTools,
  convertOutput,
  isOfGateway,
  type ProcessedImage,
} from "./convert-output.ts";
import {
  commonMetadata,
  ignoredOptions,
  type RequestedMetadata,
  readMetadata,
  resolveQuality,
  uninspectedMetadata,
} from "./image-head.ts";
import type { PostProcessing } from "./plan/image-plan.ts";

/** The tools for post-processing one request. */
export interface PostProcessTools extends ConversionTools {
  download(url: string): Promise<LoadedImage>;
  /** Whether a URL points into the operator's private network, or contains a password. */
  isPrivate(url: string): boolean;
  /** Called with the first error where some images of a buffered response could not be processed. */
  onFailure(error: unknown): void;
  /** Called for each stream event that was unusable. */
  onUnusable(event: ImageEvent): void;
}

interface PostProcessOptions {
  readonly postProcessing: PostProcessing;
  readonly stream: boolean;
  /** The maximum number of images for the client. */
  readonly maxImages: number;
  /** The metadata that the upstream request asked for. */
  readonly requested: RequestedMetadata;
}

export async function postProcess(
  response: ImageResponse,
  options: PostProcessOptions,
  tools: PostProcessTools,
): Promise<ImageResponse> {
  return response.kind === "stream"
    ? { kind: "stream", events: processEvents(response.events, options, tools) }
    : processBuffered(response, options, tools);
}

async function* processEvents(
  events: AsyncIterable<ImageEvent>,
  options: PostProcessOptions,
  tools: PostProcessTools,
): AsyncGenerator<ImageEvent> {
  const failures: unknown[] = [];
  // Images that are missing in one event may still arrive in another.
  const onFailure = (error: unknown): unknown => failures.push(error);
  let { maxImages } = options;
  let delivered = 0;
  let processed: ImageEvent;
  for await (const event of events) {
    try {
      if (event.type === "buffered") {
        const partOptions = { ...options, maxImages };
        const response = await processBuffered(event.response, partOptions, {
          ...tools,
          onFailure,
        });
        maxImages -= response.results.length;
        delivered += response.results.length;
        processed = { type: "buffered", response };
      } else {
        if (event.type === "completed") await checkTruncation(event.image);
        processed = await processFrame(event, options, tools);
        if (event.type === "completed") delivered++;
      }
    } catch (error) {
      failures.push(markMayBeBilled(error));
      tools.onUnusable(event);
      continue;
    }
    yield processed;
  }
  // The stream ends with the error after all usable images, unless there were enough of them.
  if (failures.length > 0 && delivered < options.maxImages) throw failures[0];
}

/**
 * Drops the images of a stream beyond the maximum; their cost is in the request record. A buffered response is returned
 * unchanged: `processBuffered` has limited its images already.
 */
export function limitImages(maxImages: number, response: ImageResponse): ImageResponse {
  return response.kind === "stream"
    ? { kind: "stream", events: takeImages(maxImages, response.events) }
    : response;
}

async function* takeImages(
  maxImages: number,
  events: AsyncIterable<ImageEvent>,
): AsyncGenerator<ImageEvent> {
  let left = maxImages;
  for await (const event of events) {
    if (event.type === "buffered") left -= event.response.results.length;
    else if (event.type === "completed" && left-- <= 0) continue;
    yield event;
  }
}

async function processFrame(
  frame: StreamedImage,
  { postProcessing, requested }: PostProcessOptions,
  tools: PostProcessTools,
): Promise<StreamedImage> {
  const { image, flattened } = await convertOutput(
    frame.image,
    { postProcessing, requested },
    tools,
  );
  const inspected = await readMetadata(image, { requested, reported: frame, flattened });
  if (frame.type === "completed") reportIgnored(requested, inspected, tools);
  const { background: _, ...others } = frame;
  return { ...others, ...resolveQuality(requested, frame), ...inspected, image };
}

async function processBuffered(
  response: BufferedImageResponse,
  options: PostProcessOptions,
  tools: PostProcessTools,
): Promise<BufferedImageResponse> {
  const { maxImages, requested, postProcessing } = options;
  const { deliverAs } = postProcessing;
  const { metadata: reported } = response;
  const results: ImageResult[] = [];
  const failures: unknown[] = [];
  let inspected: ImageMetadata | undefined;
  let inspectedCount = 0;
  // Sequential: each image may be large.
  for (const result of response.results) {
    if (results.length === maxImages) break;
    try {
      const { image, flattened } = await processImage(result.image, options, tools);
      const linked = result.image.kind === "url" && image.kind !== "url" && deliverAs === undefined;
      results.push({ ...result, image, ...(linked && { linked }) });
      if (image.kind === "url") continue;
      inspectedCount++;
      const metadata = await readMetadata(image, { requested, reported, flattened });
      reportIgnored(requested, metadata, tools);
      inspected = commonMetadata(inspected, metadata);
    } catch (error) {
      failures.push(markMayBeBilled(error));
    }
  }
  // Billed images are delivered: one unusable image does not fail the others.
  if (results.length === 0 && failures.length > 0) throw failures[0];
  if (failures.length > 0) tools.onFailure(failures[0]);
  const { length: received } = response.results;
  return {
    ...response,
    results,
    ...(results.length < received && { generated: response.generated ?? received }),
    metadata: {
      ...uninspectedMetadata(
        { ...reported, ...resolveQuality(requested, reported) },
        inspectedCount,
        results.length,
      ),
      ...(inspectedCount === results.length && inspected),
    },
  };
}

/** Reports the options that had no effect on an image. */
function reportIgnored(
  requested: RequestedMetadata,
  actual: ImageMetadata,
  tools: PostProcessTools,
): void {
  for (const name of ignoredOptions(requested, actual)) tools.onDropped(name);
}

async function processImage(
  image: ImageContent,
  options: PostProcessOptions,
  tools: PostProcessTools,
): Promise<ProcessedImage<ImageContent>> {
  if (image.kind === "url") return processLink(image, options, tools);
  await checkTruncation(image);
  const { postProcessing, stream } = options;
  if (postProcessing.deliverAs === "url" && !stream) tools.onAdapted("response_format");
  return convertOutput(image, options, tools);
}

async function processLink(
  image: Extract<ImageContent, { kind: "url" }>,
  options: PostProcessOptions,
  tools: PostProcessTools,
): Promise<ProcessedImage<ImageContent>> {
  const { postProcessing, stream } = options;
  const { deliverAs, format, opaque } = postProcessing;
  if (!isImageUrl(image.url)) throw invalidResponse("it contains a URL that is not valid");
  const mustFetch =
    stream ||
    deliverAs === "b64_json" ||
    // A client cannot reach such a URL, or must not see it.
    tools.isPrivate(image.url);
  const unchanged = { image, flattened: false };
  if (!mustFetch && format === undefined && !opaque) return unchanged;
  if (deliverAs === "b64_json") tools.onAdapted("response_format");
  let downloaded: LoadedImage;
  try {
    downloaded = await tools.download(image.url);
  } catch (error) {
    // The image is billed: delivering the upstream's link is better than failing.
    if (mustFetch || !(isOfGateway(error) || isUnreachable(error))) throw error;
    for (const name of skippedOptions(postProcessing)) tools.onDropped(name);
    return unchanged;
  }
  await checkTruncation(downloaded);
  return convertOutput(downloaded, options, tools);
}

/** Unreachable for the gateway at the moment: the client may still reach the URL. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError && error.kind === "upstream_unreachable";

/** Options that have no effect on an image that is passed on as a link. */
const skippedOptions = ({ format, compression, opaque }: PostProcessing): string[] => [
  ...(format === undefined ? [] : ["output_format"]),
  ...(compression === undefined ? [] : ["output_compression"]),
  ...(opaque ? ["background"] : []),
];
