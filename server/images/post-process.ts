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
import { checkWhole } from "./check-truncation.ts";
import { type AskedFacts, factsOf, qualityOf, shared, unheeded } from "./image-facts.ts";
import { type Held, typeOf } from "./image-head.ts";
import type { Finish } from "./plan/plan.ts";

/** What finishing needs of the rest of the house, for one call. */
export interface Workshop {
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
  onSpoilt(event: ImageEvent): void;
}

export interface Conversion {
  readonly format: "png" | "jpeg" | "webp";
  readonly quality?: number;
  readonly flatten?: boolean;
}

export interface Wanted {
  readonly finish: Finish;
  readonly stream: boolean;
  /** How many pictures the caller asked for. */
  readonly count: number;
  /** How many of those that come the caller gets. */
  readonly most: number;
  /** What the target was asked for natively, and so delivered. */
  readonly asked: AskedFacts;
}

export async function finishReply(
  reply: ImageResponse,
  wanted: Wanted,
  workshop: Workshop,
): Promise<ImageResponse> {
  return reply.kind === "stream"
    ? { kind: "stream", events: finishEvents(reply.events, wanted, workshop) }
    : finishWhole(reply, wanted, workshop);
}

async function* finishEvents(
  events: AsyncIterable<ImageEvent>,
  wanted: Wanted,
  workshop: Workshop,
): AsyncGenerator<ImageEvent> {
  const failures: unknown[] = [];
  // What is missing of a part may yet come in another.
  const onMissing: Workshop["onMissing"] = (_, error) => failures.push(error);
  let { most } = wanted;
  let delivered = 0;
  let ready: ImageEvent;
  for await (const event of events) {
    try {
      if (event.type === "whole") {
        const part = { ...wanted, most };
        const reply = await finishWhole(event.reply, part, { ...workshop, onMissing });
        most -= reply.results.length;
        delivered += reply.results.length;
        ready = { type: "whole", reply };
      } else {
        if (event.type === "completed") await checkWhole(event.image);
        ready = await finishFrame(event, wanted, workshop);
        if (event.type === "completed") delivered++;
      }
    } catch (error) {
      failures.push(error);
      workshop.onSpoilt(event);
      continue;
    }
    yield ready;
  }
  // After what could be delivered, as its end; unless there were more than enough.
  if (failures.length > 0 && delivered < wanted.most) throw failures[0];
}

/** What comes beyond what was asked for is in the account, and goes no further. */
export function upTo(most: number, reply: ImageResponse): ImageResponse {
  return reply.kind === "stream" ? { kind: "stream", events: first(most, reply.events) } : reply;
}

async function* first(most: number, events: AsyncIterable<ImageEvent>): AsyncGenerator<ImageEvent> {
  let left = most;
  for await (const event of events) {
    if (event.type === "whole") left -= event.reply.results.length;
    else if (event.type === "completed" && left-- <= 0) continue;
    yield event;
  }
}

async function finishFrame(
  frame: StreamedImage,
  { finish, asked }: Wanted,
  workshop: Workshop,
): Promise<StreamedImage> {
  const { picture, flattened } = await converted(frame.image, { finish, asked }, workshop);
  const facts = await factsOf(picture, { asked, told: frame, flattened });
  if (frame.type === "completed")
    for (const name of unheeded(asked, facts)) workshop.onDropped(name);
  const { background: _, ...others } = frame;
  return { ...others, ...qualityOf(asked, frame), ...facts, image: picture };
}

async function finishWhole(
  reply: BufferedImageResponse,
  wanted: Wanted,
  workshop: Workshop,
): Promise<BufferedImageResponse> {
  const { count, most, asked, finish } = wanted;
  const { facts: told } = reply;
  const results: ImageResult[] = [];
  const failures: unknown[] = [];
  let facts: ImageMetadata | undefined;
  let seen = 0;
  // One after the other: each may be a large picture.
  for (const result of reply.results) {
    if (results.length === most) break;
    try {
      const { picture: image, flattened } = await finished(result.image, wanted, workshop);
      const { kind: came } = result.image;
      const linked = came === "url" && image.kind !== "url" && finish.as === undefined;
      results.push({ ...result, image, ...(linked && { linked }) });
      if (image.kind === "url") continue;
      seen++;
      const shown = await factsOf(image, { asked, told, flattened });
      for (const name of unheeded(asked, shown)) workshop.onDropped(name);
      facts = shared(facts, shown);
    } catch (error) {
      failures.push(error);
    }
  }
  // What has been paid for is delivered: one picture that is none does not take the others along.
  if (results.length === 0 && failures.length > 0) throw failures[0];
  if (failures.length > 0) workshop.onMissing(count - results.length, failures[0]);
  const { size, output_format, background, ...unseen } = { ...told, ...qualityOf(asked, told) };
  const { length: came } = reply.results;
  const looked = seen === results.length;
  return {
    ...reply,
    results,
    ...(results.length < came && { drawn: reply.drawn ?? came }),
    // Of what nobody here has looked at, nothing is said that only looking tells.
    facts: {
      ...unseen,
      ...(looked && size !== undefined && { size }),
      ...(looked && output_format !== undefined && { output_format }),
      ...(seen === 0 && background !== undefined && { background }),
      ...(looked && facts),
    },
  };
}

interface Finished<P extends ImageContent> {
  readonly picture: P;
  /** The gateway has put it on white. */
  readonly flattened: boolean;
}

async function finished(
  image: ImageContent,
  wanted: Wanted,
  workshop: Workshop,
): Promise<Finished<ImageContent>> {
  const { finish, stream } = wanted;
  const { as, format, opaque } = finish;
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url))
      throw invalidResponse("a link that is not a link");
    const mustFetch =
      stream ||
      as === "b64_json" ||
      // Such a link leads callers nowhere, or tells them what is not theirs to know.
      workshop.isPrivate(image.url);
    const asIs = { picture: image, flattened: false };
    if (!mustFetch && format === undefined && !opaque) return asIs;
    if (as === "b64_json") workshop.onAdapted("response_format");
    let fetched: Held;
    try {
      fetched = await workshop.download(image.url);
    } catch (error) {
      // It is paid for: better handed over as it is than not at all.
      if (mustFetch || !isOutOfReach(error)) throw error;
      for (const name of unserved(finish)) workshop.onDropped(name);
      return asIs;
    }
    await checkWhole(fetched);
    return converted(fetched, wanted, workshop);
  }
  await checkWhole(image);
  if (as === "url" && !stream) workshop.onAdapted("response_format");
  return converted(image, wanted, workshop);
}

/** From here and now: whoever gets the link may have more luck. */
const isOutOfReach = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.fault === "upstream_unreachable" || error.fault === "upstream_timeout");

/** What a picture that is not looked at is not finished with. */
const unserved = ({ format, compression, opaque }: Finish): string[] => [
  ...(format === undefined ? [] : ["output_format"]),
  ...(compression === undefined ? [] : ["output_compression"]),
  ...(opaque ? ["background"] : []),
];

async function converted(
  picture: Held,
  { finish, asked }: Pick<Wanted, "finish" | "asked">,
  workshop: Workshop,
): Promise<Finished<Held>> {
  const { format, opaque } = finish;
  const type = typeOf(picture);
  const same = format === undefined || type === `image/${format}`;
  const compression = finish.compression ?? (same ? undefined : finish.mendedCompression);
  const flattens = opaque === true && type !== "image/jpeg";
  if (same && compression === undefined && !flattens) return { picture, flattened: false };
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
  return { picture: ready, flattened };
}

const formatOf = (type: string | undefined): Conversion["format"] =>
  type === "image/jpeg" ? "jpeg" : type === "image/webp" ? "webp" : "png";
