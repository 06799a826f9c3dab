/** What becomes of a picture between the upstream and the caller: fetched, converted, and described as it truly is. */
import type {
  ImageEvent,
  ImageFacts,
  ImageFrame,
  ImageReply,
  ImageResult,
  Picture,
  WholeReply,
} from "../../upstream/contract.ts";
import { lie } from "../verify.ts";
import { type Held, inBase64, sizeIn, typeOf } from "./look.ts";
import type { Finish } from "./plan.ts";
import { checkWhole } from "./whole.ts";

/** What finishing needs of the rest of the house, for one call. */
export interface Workshop {
  download(url: string): Promise<Held>;
  convert(picture: Held, to: Conversion): Promise<Held>;
  /** Whether a link leads into the operator's own network. */
  isInside(url: string): boolean;
  /** Told how many there are less than were asked for, and why, where a picture could not be finished. */
  onMissing(count: number, error: unknown): void;
  /** Told of each option that the gateway served itself. */
  onAdapted(name: string): void;
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
  readonly asked: ImageFacts;
}

export async function finishReply(
  reply: ImageReply,
  wanted: Wanted,
  workshop: Workshop,
): Promise<ImageReply> {
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
  let { most } = wanted;
  let ready: ImageEvent;
  for await (const event of events) {
    try {
      if (event.type === "whole") {
        const reply = await finishWhole(event.reply, { ...wanted, most }, workshop);
        most -= reply.results.length;
        ready = { type: "whole", reply };
      } else {
        if (event.type === "completed") await checkWhole({ kind: "base64", base64: event.base64 });
        ready = await finishFrame(event, wanted, workshop);
      }
    } catch (error) {
      failures.push(error);
      continue;
    }
    yield ready;
  }
  // After what could be delivered, as its end.
  if (failures.length > 0) throw failures[0];
}

/** What comes beyond what was asked for is in the account, and goes no further. */
export function upTo(most: number, reply: ImageReply): ImageReply {
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
  frame: ImageFrame,
  { finish, asked }: Wanted,
  workshop: Workshop,
): Promise<ImageFrame> {
  const came: Held = { kind: "base64", base64: frame.base64 };
  const picture = await converted(came, finish, workshop);
  const facts = await factsOf(picture);
  return {
    ...toldOf(asked, frame),
    ...frame,
    ...facts,
    ...(picture !== came && { base64: await inBase64(picture) }),
  };
}

async function finishWhole(
  reply: WholeReply,
  { finish, stream, count, most, asked }: Wanted,
  workshop: Workshop,
): Promise<WholeReply> {
  const results: ImageResult[] = [];
  const failures: unknown[] = [];
  let facts: ImageFacts | undefined;
  let seen = 0;
  // One after the other: each may be a large picture.
  for (const result of reply.results) {
    if (results.length === most) break;
    try {
      const image = await finished(result.image, finish, stream, workshop);
      results.push({ ...result, image });
      if (image.kind === "url") continue;
      seen++;
      facts = shared(facts, await factsOf(image));
    } catch (error) {
      failures.push(error);
    }
  }
  // What has been paid for is delivered: one picture that is none does not take the others along.
  if (results.length === 0 && failures.length > 0) throw failures[0];
  if (failures.length > 0) workshop.onMissing(count - results.length, failures[0]);
  const told = { ...toldOf(asked, reply.facts), ...reply.facts };
  const { size: _, output_format: __, ...unseen } = told;
  const { length: came } = reply.results;
  return {
    ...reply,
    results,
    ...(results.length < came && { drawn: reply.drawn ?? came }),
    // Of what nobody here has looked at, nothing is said that only looking tells.
    facts: {
      ...(seen === results.length ? told : unseen),
      ...facts,
      ...(finish.opaque && seen > 0 && { background: "opaque" }),
    },
  };
}

async function finished(
  image: Picture,
  finish: Finish,
  stream: boolean,
  workshop: Workshop,
): Promise<Picture> {
  const { as, format, opaque } = finish;
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url)) throw lie("a link that is not a link");
    const wantsBytes =
      stream ||
      as === "b64_json" ||
      format !== undefined ||
      opaque ||
      // A link into the operator's own network leads callers nowhere, and tells them of it.
      workshop.isInside(image.url);
    if (!wantsBytes) return image;
    if (as === "b64_json") workshop.onAdapted("response_format");
    const fetched = await workshop.download(image.url);
    await checkWhole(fetched);
    return converted(fetched, finish, workshop);
  }
  await checkWhole(image);
  if (as === "url" && !stream) workshop.onAdapted("response_format");
  return converted(image, finish, workshop);
}

async function converted(picture: Held, finish: Finish, workshop: Workshop): Promise<Held> {
  const { format, compression, opaque } = finish;
  const type = typeOf(picture);
  const same = format === undefined || type === `image/${format}`;
  const flatten = opaque === true && type !== "image/jpeg";
  if (same && compression === undefined && !flatten) return picture;
  if (flatten) workshop.onAdapted("background");
  if (!same) workshop.onAdapted("output_format");
  if (compression !== undefined) workshop.onAdapted("output_compression");
  return workshop.convert(picture, {
    format: format ?? formatOf(type),
    ...(compression !== undefined && { quality: compression }),
    ...(flatten && { flatten }),
  });
}

const formatOf = (type: string | undefined): Conversion["format"] =>
  type === "image/jpeg" ? "jpeg" : type === "image/webp" ? "webp" : "png";

/** What the bytes themselves say. */
async function factsOf(picture: Held): Promise<ImageFacts> {
  const type = typeOf(picture);
  const seen = await sizeIn(picture);
  return {
    ...(seen && { size: `${seen.width}x${seen.height}` }),
    ...(type && { output_format: type.replace(/^image\/(?:svg\+)?/, "").replace("xml", "svg") }),
  };
}

/** What is true of all pictures of an answer. */
const shared = (before: ImageFacts | undefined, next: ImageFacts): ImageFacts =>
  before === undefined
    ? next
    : Object.fromEntries(
        Object.entries(before).filter(([name, value]) => next[name as keyof ImageFacts] === value),
      );

/** An upstream that took an option, and says nothing of it, has done what it was asked. `auto` is no fact. */
function toldOf(asked: ImageFacts, told: ImageFacts): ImageFacts {
  const { quality, background } = asked;
  return {
    ...(quality && quality !== "auto" && told.quality === undefined && { quality }),
    ...(background && background !== "auto" && told.background === undefined && { background }),
  };
}
