/**
 * Fan-out: splits a request for more images than a target generates per request into parallel upstream requests, each
 * with a different seed if the client gave one, and merges their responses.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import type {
  BufferedImageResponse,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  MissingGroup,
} from "../upstream/contract.ts";
import { markMayBeBilled } from "../upstream/may-have-been-billed.ts";
import { commonMetadata } from "./image-head.ts";
import { sumUsage } from "./image-usage.ts";
import type { Plan } from "./plan/image-plan.ts";

/** One client must not use all concurrency slots of an upstream. */
const maxParallelImageRequests = 4;

interface FanOutOptions<Q> {
  readonly send: (query: Q) => Promise<ImageResponse>;
  /** The client gets a stream: an error can be its last event. */
  readonly isStreaming: boolean;
  /** Called for each upstream request that failed or ended early, with the number of missing images. */
  readonly onMissing: (group: MissingGroup) => void;
  /** Where all upstream requests fail: whether this error rules out a retry on another target. */
  readonly isFinal?: (error: unknown) => boolean;
  /**
   * Called when the target generates one image although several were requested: the others are requested one by one.
   * If absent, they are missing.
   */
  readonly onSingleImage?: (() => void) | undefined;
}

/**
 * Billed images are delivered: when some upstream requests fail, the response contains the images of the others. Throws
 * only if there is no image at all: the first final error, or else the first error.
 */
export async function fanOut<Q extends GenerationQuery>(
  { query, requestCounts }: Pick<Plan<Q>, "query" | "requestCounts">,
  { send, isStreaming, onMissing, isFinal, onSingleImage }: FanOutOptions<Q>,
): Promise<ImageResponse> {
  const requested = sum(requestCounts);
  let { responses, failures } = await sendAll(query, requestCounts, send);
  const sendOneByOne = (missing: number): Promise<FanOutResult> => {
    onSingleImage?.();
    return sendAll(query, new Array<number>(missing).fill(1), send, requestCounts);
  };
  const missing = requested - countImages(responses);
  if (onSingleImage && failures.length === 0 && responses.every(isSingleImage) && missing > 0) {
    const more = await sendOneByOne(missing);
    responses = [...responses, ...more.responses];
    failures = more.failures;
  }
  for (const { count, error } of failures) onMissing({ count, error });
  const [failure] = failures;
  if (failure && responses.length === 0) {
    throw (failures.find(({ error }) => isFinal?.(error)) ?? failure).error;
  }
  const [only] = responses;
  if (only?.response.kind === "stream" && requestCounts.length === 1) {
    const events = reportMissing(only, onMissing);
    // The number of images is known only when the stream has ended.
    return onSingleImage && requested > 1
      ? { kind: "stream", events: topUpStream(events, requested, sendOneByOne, onMissing) }
      : { kind: "stream", events };
  }
  if ((failure && isStreaming) || responses.some(({ response }) => response.kind === "stream")) {
    return { kind: "stream", events: mergeResponseStreams(responses, failure?.error, onMissing) };
  }
  return mergeResponses(responses.map(({ response }) => response as BufferedImageResponse));
}

interface Failure {
  readonly at: number;
  readonly count: number;
  readonly error: unknown;
}

/** The response to one upstream request, and how many images that request was for. */
interface PartialResponse {
  readonly count: number;
  readonly response: ImageResponse;
}

interface FanOutResult {
  readonly responses: readonly PartialResponse[];
  /** In the order of the upstream requests. */
  readonly failures: readonly Failure[];
}

/** `before`: the image counts of earlier upstream requests. */
async function sendAll<Q extends GenerationQuery>(
  query: Q,
  requestCounts: readonly number[],
  send: FanOutOptions<Q>["send"],
  before: readonly number[] = [],
): Promise<FanOutResult> {
  const parts: (PartialResponse | undefined)[] = requestCounts.map(() => undefined);
  const failures: Failure[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < requestCounts.length) {
      const at = next++;
      const count = requestCounts[at] as number;
      try {
        const earlier = [...before, ...requestCounts.slice(0, at)];
        parts[at] = { count, response: await send(withCount(query, count, earlier)) };
      } catch (error) {
        failures.push({ at, count, error });
        if (error instanceof GatewayError && error.definition.causedBy !== "client") continue;
        // If the upstream rejects one request, it rejects the others too: they are not sent, so that none is billed in
        // vain.
        const unsent = sum(requestCounts.slice(next));
        if (unsent > 0) failures.push({ at: next, count: unsent, error });
        next = requestCounts.length;
      }
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(maxParallelImageRequests, requestCounts.length) }, work),
  );
  return {
    responses: parts.filter((part) => part !== undefined),
    failures: failures.toSorted((a, b) => a.at - b.at),
  };
}

const sum = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

const countImages = (parts: readonly PartialResponse[]): number =>
  parts.reduce(
    (sum, { response }) => sum + (response.kind === "buffered" ? response.results.length : 0),
    0,
  );

const isSingleImage = ({ response }: PartialResponse): boolean =>
  response.kind === "buffered" && response.results.length === 1;

/** Omits `n` for one image: that is every upstream's default, and some upstreams have no such parameter. */
const withCount = <Q extends GenerationQuery>(
  query: Q,
  count: number,
  earlier: readonly number[],
): Q => {
  const { n: _, ...options } = query.options;
  const counted = { ...query, options: count === 1 ? options : { ...options, n: count } };
  if (earlier.length === 0) return counted;
  const part = (query.part ?? 0) + earlier.length;
  return { ...counted, extraFields: advanceSeed(query.extraFields, sum(earlier)), part };
};

/** The events of the response. If the stream ends early, reports how many images are missing. */
async function* reportMissing(
  { response, count }: PartialResponse,
  onMissing: FanOutOptions<GenerationQuery>["onMissing"],
): AsyncGenerator<ImageEvent> {
  let delivered = 0;
  let begun = false;
  try {
    for await (const event of eventsOf(response)) {
      begun = true;
      delivered += countImagesIn(event);
      yield event;
    }
  } catch (error) {
    if (delivered < count)
      onMissing({ count: count - delivered, error: begun ? markMayBeBilled(error) : error });
    throw error;
  }
}

export function countImagesIn(event: ImageEvent): number {
  if (event.type === "buffered") return event.response.results.length;
  return event.type === "completed" ? 1 : 0;
}

/**
 * Merges the streams. An error is thrown at the end, after all images: one stream that fails does not end the others.
 */
async function* mergeResponseStreams(
  parts: readonly PartialResponse[],
  failure: unknown,
  onMissing: FanOutOptions<GenerationQuery>["onMissing"],
): AsyncGenerator<ImageEvent> {
  const failures: unknown[] = failure === undefined ? [] : [failure];
  const collectErrors = async function* (part: PartialResponse): AsyncGenerator<ImageEvent> {
    try {
      yield* reportMissing(part, onMissing);
    } catch (error) {
      failures.push(error);
    }
  };
  yield* mergeStreams(parts.map(collectErrors));
  if (failures.length > 0) throw failures[0];
}

/** The stream of a server that may ignore `n` and generate one image: then the missing images are requested. */
async function* topUpStream(
  events: AsyncIterable<ImageEvent>,
  requested: number,
  sendOneByOne: (missing: number) => Promise<FanOutResult>,
  onMissing: FanOutOptions<GenerationQuery>["onMissing"],
): AsyncGenerator<ImageEvent> {
  let delivered = 0;
  for await (const event of events) {
    delivered += countImagesIn(event);
    yield event;
  }
  if (delivered !== 1) return;
  const { responses, failures } = await sendOneByOne(requested - delivered);
  for (const { count, error } of failures) onMissing({ count, error });
  yield* mergeResponseStreams(responses, failures[0]?.error, onMissing);
}

async function* eventsOf(response: ImageResponse): AsyncGenerator<ImageEvent> {
  if (response.kind === "buffered") yield { type: "buffered", response };
  else yield* response.events;
}

/** Merges several image responses into one: all images, and the metadata that they have in common. */
function mergeResponses(responses: readonly BufferedImageResponse[]): BufferedImageResponse {
  const [first] = responses;
  if (!first) throw new GatewayError("internal", "There is no response to merge.");
  if (responses.length === 1) return first;
  // The sum is known only if every response reports its part.
  const usage = responses.every((response) => response.usage)
    ? responses.map((response) => response.usage).reduce(sumUsage, undefined)
    : undefined;
  const cost = responses.every((response) => response.cost !== undefined)
    ? responses.reduce((sum, response) => sum + (response.cost ?? 0), 0)
    : undefined;
  const results = responses.flatMap((response) => response.results);
  const generated = responses.reduce(
    (sum, response) => sum + (response.generated ?? response.results.length),
    0,
  );
  const { usage: _, cost: __, generated: ___, ...others } = first;
  return {
    ...others,
    metadata: responses.map(({ metadata }) => metadata).reduce(commonMetadata),
    results,
    ...(generated !== results.length && { generated }),
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
  };
}

/** Merges several streams into one, in order of arrival. */
async function* mergeStreams<T>(sources: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const readNext = async (at: number) => ({
    at,
    result: await (iterators[at] as AsyncIterator<T>).next(),
  });
  const waiting = new Map(iterators.map((_, at) => [at, readNext(at)]));
  try {
    while (waiting.size > 0) {
      const { at, result } = await Promise.race(waiting.values());
      if (result.done) waiting.delete(at);
      else {
        waiting.set(at, readNext(at));
        yield result.value;
      }
    }
  } finally {
    // Closes the sources that have not ended, and ignores their errors.
    for (const pending of waiting.values()) ignoreRejection(pending);
    for (const at of waiting.keys()) ignoreRejection(iterators[at]?.return?.());
  }
}

/**
 * The upper limit of seeds, by the range of the given seed: 31 bits, 32 bits, or JSON's integers. One less than the
 * range, because Stability stops at 4294967294 (tadasant/mcp-server-stability-ai, src/stabilityAi/sd35Client.ts).
 */
const seedLimits = [2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER];

/**
 * The seed of a further upstream request of one image request: the same seed would generate the same image again.
 * `imagesBefore`: how many images earlier upstream requests were for. A request for several images uses as many
 * consecutive seeds. A negative seed means random (-1) and is kept.
 */
function advanceSeed(extraFields: ExtraFields, imagesBefore: number): ExtraFields {
  const { seed } = extraFields;
  // Form fields are strings.
  const isText = typeof seed === "string" && /^\d{1,15}$/.test(seed);
  const first = isText ? Number(seed) : seed;
  if (
    imagesBefore === 0 ||
    typeof first !== "number" ||
    !Number.isSafeInteger(first) ||
    first < 0
  ) {
    return extraFields;
  }
  const end = seedLimits.find((last) => first <= last) ?? Number.MAX_SAFE_INTEGER;
  const next = (first + imagesBefore) % end;
  return { ...extraFields, seed: isText ? String(next) : next };
}
