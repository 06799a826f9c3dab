/** What becomes of a picture between the upstream and the caller: fetched, converted, and described as it truly is. */
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

/** What finishing needs of the rest of the house, for one call. */
export interface PostProcessTools {
  download(url: string): Promise<Held>;
  convert(picture: Held, to: Conversion): Promise<Held>;
  /** Whether a link leads into the operator's own network, or holds a password. */
  isPrivate(url: string): boolean;
  /** Told how many there are less than were asked for, and why, where a picture could not be finished. */
  onMissing(count: number, error: unknown): void;
  /** Told of each option that the gateway served itself. */
  onAdapted(name: string): void;
  /** Told of each option that nobody served. */
  onDropped(name: string): void;
  /** Told of what came in a stream and could not be used. */
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
  /** How many pictures the caller asked for. */
  readonly count: number;
  /** How many of those that come the caller gets. */
  readonly maxImages: number;
  /** What the target was asked for natively, and so delivered. */
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
  // What is missing of a part may yet come in another.
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
  // After what could be delivered, as its end; unless there were more than enough.
  if (failures.length > 0 && delivered < wanted.maxImages) throw failures[0];
}

/** What comes beyond what was asked for is in the account, and goes no further. */
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
  // One after the other: each may be a large picture.
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
  // What has been paid for is delivered: one picture that is none does not take the others along.
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
    // Of what nobody here has looked at, nothing is said that only looking tells.
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
  /** The gateway has put it on white. */
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
      // Such a link leads callers nowhere, or tells them what is not theirs to know.
      workshop.isPrivate(image.url);
    const asIs = { image, flattened: false };
    if (!mustFetch && format === undefined && !opaque) return asIs;
    if (as === "b64_json") workshop.onAdapted("response_format");
    let fetched: Held;
    try {
      fetched = await workshop.download(image.url);
    } catch (error) {
      // It is paid for: better handed over as it is than not at all.
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

/** From here and now: whoever gets the link may have more luck. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.fault === "upstream_unreachable" || error.fault === "upstream_timeout");

/** What a picture that is not looked at is not finished with. */
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
  // Where it is decoded anyway, an upstream that was asked for an opaque one is taken at its word.
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
