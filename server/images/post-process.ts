/**
 * Post-processes images between the upstream and the client: downloads, converts and describes them by their real
 * metadata.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { invalidResponse } from "../request/invalid-response.ts";
import type {
  BufferedImageResponse,
  ImageContent,
  ImageEvent,
  ImageMetadata,
  ImageResponse,
  ImageResult,
  StreamedImage,
} from "../upstream/contract.ts";
import { checkTruncation } from "./check-truncation.ts";
import { type Held, imageTypeOf } from "./image-head.ts";
import {
  commonMetadata,
  ignoredOptions,
  type RequestedMetadata,
  readMetadata,
  resolveQuality,
} from "./image-metadata.ts";
import type { PostProcessing } from "./plan/plan.ts";

/** The tools for post-processing one request. */
export interface PostProcessTools {
  download(url: string): Promise<Held>;
  convert(picture: Held, to: Conversion): Promise<Held>;
  /** Whether a URL points into the operator's private network, or contains a password. */
  isPrivate(url: string): boolean;
  /** Called with the number of missing images, and the error, where an image could not be processed. */
  onMissing(count: number, error: unknown): void;
  /** Called for each option that the gateway emulated. */
  onAdapted(name: string): void;
  /** Called for each option that had no effect. */
  onDropped(name: string): void;
  /** Called for each stream event that was unusable. */
  onUnusable(event: ImageEvent): void;
}

export interface Conversion {
  readonly format: "png" | "jpeg" | "webp";
  readonly quality?: number;
  readonly flatten?: boolean;
}

export interface PostProcessOptions {
  readonly postProcessing: PostProcessing;
  readonly stream: boolean;
  /** How many images the client requested. */
  readonly count: number;
  /** The maximum number of images for the client. */
  readonly maxImages: number;
  /** The metadata that the target was asked for, and so delivers. */
  readonly requested: RequestedMetadata;
}

export async function postProcess(
  reply: ImageResponse,
  wanted: PostProcessOptions,
  workshop: PostProcessTools,
): Promise<ImageResponse> {
  return reply.kind === "stream"
    ? { kind: "stream", events: processEvents(reply.events, wanted, workshop) }
    : processWhole(reply, wanted, workshop);
}

async function* processEvents(
  events: AsyncIterable<ImageEvent>,
  wanted: PostProcessOptions,
  workshop: PostProcessTools,
): AsyncGenerator<ImageEvent> {
  const failures: unknown[] = [];
  // Images that are missing in one event may still arrive in another.
  const onMissing: PostProcessTools["onMissing"] = (_, error) => failures.push(error);
  let { maxImages: most } = wanted;
  let delivered = 0;
  let ready: ImageEvent;
  for await (const event of events) {
    try {
      if (event.type === "whole") {
        const part = { ...wanted, most };
        const reply = await processWhole(event.reply, part, { ...workshop, onMissing });
        most -= reply.results.length;
        delivered += reply.results.length;
        ready = { type: "whole", reply };
      } else {
        if (event.type === "completed") await checkTruncation(event.image);
        ready = await processFrame(event, wanted, workshop);
        if (event.type === "completed") delivered++;
      }
    } catch (error) {
      failures.push(error);
      workshop.onUnusable(event);
      continue;
    }
    yield ready;
  }
  // The stream ends with the error after all usable images, unless there were enough of them.
  if (failures.length > 0 && delivered < wanted.maxImages) throw failures[0];
}

/** Images beyond the maximum are billed in the record, and not delivered. */
export function limitImages(most: number, reply: ImageResponse): ImageResponse {
  return reply.kind === "stream"
    ? { kind: "stream", events: takeImages(most, reply.events) }
    : reply;
}

async function* takeImages(
  most: number,
  events: AsyncIterable<ImageEvent>,
): AsyncGenerator<ImageEvent> {
  let left = most;
  for await (const event of events) {
    if (event.type === "whole") left -= event.reply.results.length;
    else if (event.type === "completed" && left-- <= 0) continue;
    yield event;
  }
}

async function processFrame(
  frame: StreamedImage,
  { postProcessing: finish, requested: asked }: PostProcessOptions,
  workshop: PostProcessTools,
): Promise<StreamedImage> {
  const { image: picture, flattened } = await convertImage(
    frame.image,
    { postProcessing: finish, requested: asked },
    workshop,
  );
  const facts = await readMetadata(picture, { requested: asked, reported: frame, flattened });
  if (frame.type === "completed")
    for (const name of ignoredOptions(asked, facts)) workshop.onDropped(name);
  const { background: _, ...others } = frame;
  return { ...others, ...resolveQuality(asked, frame), ...facts, image: picture };
}

async function processWhole(
  reply: BufferedImageResponse,
  wanted: PostProcessOptions,
  workshop: PostProcessTools,
): Promise<BufferedImageResponse> {
  const { count, maxImages: most, requested: asked, postProcessing: finish } = wanted;
  const { metadata: told } = reply;
  const results: ImageResult[] = [];
  const failures: unknown[] = [];
  let facts: ImageMetadata | undefined;
  let seen = 0;
  // Sequential: each image may be large.
  for (const result of reply.results) {
    if (results.length === most) break;
    try {
      const { image, flattened } = await processImage(result.image, wanted, workshop);
      const { kind: came } = result.image;
      const linked = came === "url" && image.kind !== "url" && finish.as === undefined;
      results.push({ ...result, image, ...(linked && { linked }) });
      if (image.kind === "url") continue;
      seen++;
      const shown = await readMetadata(image, { requested: asked, reported: told, flattened });
      for (const name of ignoredOptions(asked, shown)) workshop.onDropped(name);
      facts = commonMetadata(facts, shown);
    } catch (error) {
      failures.push(error);
    }
  }
  // Billed images are delivered: one unusable image does not fail the others.
  if (results.length === 0 && failures.length > 0) throw failures[0];
  if (failures.length > 0) workshop.onMissing(count - results.length, failures[0]);
  const { size, output_format, background, ...unseen } = {
    ...told,
    ...resolveQuality(asked, told),
  };
  const { length: came } = reply.results;
  const looked = seen === results.length;
  return {
    ...reply,
    results,
    ...(results.length < came && { generated: reply.generated ?? came }),
    // Metadata that only an inspection shows is not reported for images that were not inspected.
    metadata: {
      ...unseen,
      ...(looked && size !== undefined && { size }),
      ...(looked && output_format !== undefined && { output_format }),
      ...(seen === 0 && background !== undefined && { background }),
      ...(looked && facts),
    },
  };
}

interface ProcessedImage<P extends ImageContent> {
  readonly image: P;
  /** The gateway has flattened it onto white. */
  readonly flattened: boolean;
}

async function processImage(
  image: ImageContent,
  wanted: PostProcessOptions,
  workshop: PostProcessTools,
): Promise<ProcessedImage<ImageContent>> {
  const { postProcessing: finish, stream } = wanted;
  const { as, format, opaque } = finish;
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url))
      throw invalidResponse("a link that is not a link");
    const mustFetch =
      stream ||
      as === "b64_json" ||
      // A client cannot reach such a URL, or must not see it.
      workshop.isPrivate(image.url);
    const asIs = { image, flattened: false };
    if (!mustFetch && format === undefined && !opaque) return asIs;
    if (as === "b64_json") workshop.onAdapted("response_format");
    let fetched: Held;
    try {
      fetched = await workshop.download(image.url);
    } catch (error) {
      // The image is billed: delivering the upstream's link is better than failing.
      if (mustFetch || !isUnreachable(error)) throw error;
      for (const name of skippedOptions(finish)) workshop.onDropped(name);
      return asIs;
    }
    await checkTruncation(fetched);
    return convertImage(fetched, wanted, workshop);
  }
  await checkTruncation(image);
  if (as === "url" && !stream) workshop.onAdapted("response_format");
  return convertImage(image, wanted, workshop);
}

/** Unreachable for the gateway at the moment: the client may still reach the URL. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.fault === "upstream_unreachable" || error.fault === "upstream_timeout");

/** Options that have no effect on an image that is passed on as a link. */
const skippedOptions = ({ format, compression, opaque }: PostProcessing): string[] => [
  ...(format === undefined ? [] : ["output_format"]),
  ...(compression === undefined ? [] : ["output_compression"]),
  ...(opaque ? ["background"] : []),
];

async function convertImage(
  picture: Held,
  {
    postProcessing: finish,
    requested: asked,
  }: Pick<PostProcessOptions, "postProcessing" | "requested">,
  workshop: PostProcessTools,
): Promise<ProcessedImage<Held>> {
  const { format, opaque } = finish;
  const type = imageTypeOf(picture);
  const same = format === undefined || type === `image/${format}`;
  const compression = finish.compression ?? (same ? undefined : finish.fallbackCompression);
  const flattens = opaque === true && type !== "image/jpeg";
  if (same && compression === undefined && !flattens) return { image: picture, flattened: false };
  if (flattens) workshop.onAdapted("background");
  if (!same) workshop.onAdapted("output_format");
  if (compression !== undefined) workshop.onAdapted("output_compression");
  // Where the image is decoded anyway, it is flattened if an opaque background was requested.
  const flattened = flattens || asked.background === "opaque";
  const ready = await workshop.convert(picture, {
    format: format ?? formatOf(type),
    ...(compression !== undefined && { quality: compression }),
    ...(flattened && { flatten: true }),
  });
  return { image: ready, flattened };
}

const formatOf = (type: string | undefined): Conversion["format"] =>
  type === "image/jpeg" ? "jpeg" : type === "image/webp" ? "webp" : "png";
