/**
 * Splits an oversized request, which exceeds a target's limits (maximum batch size, tokens or bytes), into sub-requests
 * of whole inputs. Sends several sub-requests concurrently, and joins their responses. A long text is never cut into
 * several inputs.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { areLargeExtraFields, isEmptyObject } from "../lib/large-json.ts";
import { runConcurrently } from "../lib/tasks.ts";
import { bytesAt, imagesAt, type RequestLoad, tokensAt } from "../limits/request-demand.ts";
import type { PermittedModel } from "../request/caller.ts";
import { joinDeviations } from "../request/deviations.ts";
import { sumOfKnown } from "../request/request-record.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import { hasContextOption, hasNestedContextOption } from "../upstream/contextual.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  InputEntry,
  Target,
  Vector,
} from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { kindOfEntry, withEntries } from "../upstream/mixed-input.ts";
import { remapInputIndex } from "../upstream/rejected-input.ts";
import { tokensPerInput } from "./embedding-usage.ts";
import { haveSameLength } from "./vector-formats.ts";

const maxParallelSubRequests = 8;

interface SplitOptions {
  readonly capabilities: (target: Target) => EmbeddingCapabilities;
  /** The maximum number of sub-requests of one request in flight. */
  readonly maxParallel?: number;
  /** Changes when vectors that were received before may be wrong: their sub-requests are sent again. */
  readonly generation?: () => number;
}

export const split =
  ({
    capabilities,
    maxParallel = maxParallelSubRequests,
    generation = () => 0,
  }: SplitOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (request) => {
    const { query, model } = request;
    const { input } = query;
    if (itemsOf(input) === 1 || unsplittableReason(query, model)) return next(request);
    // The target of a sub-request is selected later, so the sub-request must fit every target.
    const ranges = rangesOf(input, model.targets.map(capabilities));
    return ranges.length === 1
      ? sendWhole(request, { next, maxParallel, generation })
      : sendSplit(request, ranges.reverse(), { next, maxParallel, generation });
  };

interface Sending extends Required<Omit<SplitOptions, "capabilities">> {
  readonly next: Send<EmbeddingsQuery, EmbeddingsResponse>;
}

async function sendWhole(
  request: StageRequest<EmbeddingsQuery>,
  sending: Sending,
): Promise<EmbeddingsResponse> {
  try {
    return await sending.next(request);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    const whole = { from: 0, to: itemsOf(request.query.input) };
    return sendSplit(request, halves(whole), sending);
  }
}

/** `stack`: a stack of ranges, the first range on top. */
async function sendSplit(
  request: StageRequest<EmbeddingsQuery>,
  stack: InputRange[],
  { next, maxParallel, generation }: Sending,
): Promise<EmbeddingsResponse> {
  const { query } = request;
  const signal = request.signal();
  const parts = { hasStarted: false };
  if (signal.aborted) throw signal.reason;
  const controller = new AbortController();
  let received: ReceivedRange[] = [];
  const sendRange = async (range: InputRange): Promise<void> => {
    const input = inputsIn(query.input, range);
    const response = await next({
      ...request,
      query: { ...query, input },
      signal: () => controller.signal,
      parts,
      firstInput: range.from,
    });
    if (response.vectors.length !== range.to - range.from) {
      throw new GatewayError("internal", "A sub-request has a wrong number of vectors.");
    }
    received.push({ range, input, response, generation: generation() });
  };
  const onAbort = (): void => controller.abort(signal.reason);
  const sendOrHalve = async (range: InputRange): Promise<void> => {
    controller.signal.throwIfAborted();
    try {
      await sendRange(range);
    } catch (error) {
      if (range.to - range.from > 1 && isTooLarge(error)) {
        stack.push(...halves(range));
        return;
      }
      // One failed sub-request fails the request: the others are canceled.
      const remapped = remapInputIndex(error, indexesOf(range));
      controller.abort(remapped);
      throw remapped;
    }
  };
  signal.addEventListener("abort", onAbort);
  try {
    for (let round = 0; stack.length > 0; round++) {
      if (round > maxResends) throw invalidResponse("its vectors may be wrong");
      await runConcurrently(stack, maxParallel, sendOrHalve);
      const current = generation();
      const outdated = received.filter((each) => each.generation !== current);
      stack.push(...outdated.map(({ range }) => range));
      if (outdated.length > 0) received = received.filter((each) => !outdated.includes(each));
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return joinResponses(received, itemsOf(query.input));
}

/** How often sub-requests are sent again because their vectors may be wrong. */
const maxResends = 2;

/** A sub-request with its response, and the generation in which the response was received. */
interface ReceivedRange {
  readonly range: InputRange;
  readonly input: EmbeddingInput;
  readonly response: EmbeddingsResponse;
  readonly generation: number;
}

/** `count`: the number of inputs of the whole request. */
export function joinResponses(
  received: readonly Omit<ReceivedRange, "generation">[],
  count: number,
): EmbeddingsResponse {
  const vectors = new Array<Vector>(count);
  for (const { range, response } of received) {
    for (const [at, vector] of response.vectors.entries()) vectors[range.from + at] = vector;
  }
  if (!haveSameLength(vectors)) {
    throw new GatewayError(
      "upstream_invalid",
      "The request was split into several upstream requests, and their responses have vectors of different lengths.",
    );
  }
  const usage = sumUsage(received, count);
  const cost = received.reduce<number | undefined>(
    (sum, { response }) => sumOfKnown(sum, response.cost),
    0,
  );
  const deviations = received
    .map(({ response }) => response.deviations)
    .reduce(joinDeviations, undefined);
  return {
    vectors,
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
    ...(deviations && { deviations }),
  };
}

/**
 * An unknown count of one sub-request makes the total unknown. The tokens of a sub-request are divided among its own
 * inputs: the tokens of images do not count as tokens of the texts beside them.
 */
function sumUsage(
  received: readonly Omit<ReceivedRange, "generation">[],
  count: number,
): EmbeddingsResponse["usage"] {
  let inputTokens = 0;
  let totalTokens = 0;
  const perInput: number[] = new Array(count);
  for (const { range, input, response } of received) {
    const { usage } = response;
    if (!usage) return undefined;
    inputTokens += usage.inputTokens;
    totalTokens += usage.totalTokens ?? usage.inputTokens;
    for (const [at, tokens] of tokensPerInput(usage, input).entries())
      perInput[range.from + at] = tokens;
  }
  return {
    inputTokens,
    ...(totalTokens !== inputTokens && { totalTokens }),
    perInput,
    ...sumImageTokens(received),
  };
}

function sumImageTokens(received: readonly Omit<ReceivedRange, "generation">[]): {
  readonly imageTokens?: number;
} {
  const withImages = received.filter(({ input }) => input.kind === "mixed");
  const imageTokens = withImages.reduce<number | undefined>(
    (sum, { response }) => sumOfKnown(sum, response.usage?.imageTokens),
    0,
  );
  return withImages.length > 0 && imageTokens !== undefined ? { imageTokens } : {};
}

const indexesOf = ({ from, to }: InputRange): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

/** As a stack: the first half on top. */
function halves({ from, to }: InputRange): [InputRange, InputRange] {
  const middle = Math.ceil((from + to) / 2);
  return [
    { from: middle, to },
    { from, to: middle },
  ];
}

/** Too many tokens, or a body that is too large: half of it may pass. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.kind === "max_tokens_per_request" || error.definition.status === 413);

export type UnsplittableReason = "inputs depend on each other" | "large extra fields";

/**
 * The reason why no stage may cache, deduplicate, share, batch or split the request. Undefined if the stages may do so.
 * Large extra fields are such a reason, because comparing them with those of other requests would block the event loop,
 * and splitting the request would send them several times.
 */
export function unsplittableReason(
  { extraFields }: Pick<EmbeddingsQuery, "extraFields">,
  { contextual }: Pick<PermittedModel, "contextual">,
): UnsplittableReason | undefined {
  if (contextual === true) return "inputs depend on each other";
  if (isEmptyObject(extraFields)) return undefined;
  if (hasContextOption(extraFields)) return "inputs depend on each other";
  if (areLargeExtraFields(extraFields)) return "large extra fields";
  return hasNestedContextOption(extraFields) ? "inputs depend on each other" : undefined;
}

/** The strictest limits among these targets. Infinity if no target has a limit. */
export function strictestLimits(all: readonly EmbeddingCapabilities[]): RequestLoad {
  let [items, tokens, bytes] = [Infinity, Infinity, Infinity];
  for (const { maxItems, maxTokens = Infinity, maxBytes = Infinity } of all) {
    items = Math.min(items, maxItems);
    tokens = Math.min(tokens, maxTokens);
    bytes = Math.min(bytes, maxBytes);
  }
  return { items, tokens, bytes, images: Infinity };
}

/** The strictest limits of requests with images. Targets that read no images do not count: they get no such request. */
export function strictestImageLimits(all: readonly EmbeddingCapabilities[]): RequestLoad {
  let { items, tokens, bytes, images } = strictestLimits(all.filter((one) => one.images));
  for (const { images: own } of all) {
    items = Math.min(items, own?.maxItems ?? Infinity);
    bytes = Math.min(bytes, own?.maxRequestBytes ?? Infinity);
    images = Math.min(images, own?.maxPerRequest ?? Infinity);
  }
  return { items, tokens, bytes, images };
}

interface InputRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** In a mixed input, entries of one kind follow each other. Each kind is sent in requests of its own. */
function rangesOf(input: EmbeddingInput, all: readonly EmbeddingCapabilities[]): InputRange[] {
  if (input.kind !== "mixed") return splitIntoRanges(input, strictestLimits(all));
  return rangesByKind(input.entries).flatMap((range) => {
    const part = inputsIn(input, range);
    const limits = part.kind === "mixed" ? strictestImageLimits(all) : strictestLimits(all);
    return splitIntoRanges(part, limits).map(({ from, to }) => ({
      from: range.from + from,
      to: range.from + to,
    }));
  });
}

function rangesByKind(entries: readonly InputEntry[]): InputRange[] {
  const kinds = entries.map(kindOfEntry);
  const starts = kinds.flatMap((kind, at) => (kind === kinds[at - 1] ? [] : [at]));
  return starts.map((from, at) => ({ from, to: starts[at + 1] ?? kinds.length }));
}

/** In order, each within the limits. An input that exceeds them by itself is sent alone: the upstream decides. */
function splitIntoRanges(input: EmbeddingInput, limits: RequestLoad): InputRange[] {
  const count = itemsOf(input);
  // Ranges of equal length, because they are sent concurrently and the response waits for the longest.
  const maxItems = Math.ceil(count / Math.ceil(count / limits.items));
  const ranges: InputRange[] = [];
  let [from, tokens, bytes, images] = [0, 0, 0, 0];
  for (let at = 0; at < count; at++) {
    const moreBytes = bytesAt(input, at);
    const moreTokens = tokensAt(input, at, moreBytes);
    const moreImages = imagesAt(input, at);
    const isFull =
      at - from >= maxItems ||
      tokens + moreTokens > limits.tokens ||
      bytes + moreBytes > limits.bytes ||
      images + moreImages > limits.images;
    if (isFull && at > from) {
      ranges.push({ from, to: at });
      [from, tokens, bytes, images] = [at, 0, 0, 0];
    }
    tokens += moreTokens;
    bytes += moreBytes;
    images += moreImages;
  }
  ranges.push({ from, to: count });
  return ranges;
}

export function inputsIn(input: EmbeddingInput, { from, to }: InputRange): EmbeddingInput {
  if (input.kind === "text") return { kind: "text", texts: input.texts.slice(from, to) };
  return input.kind === "tokens"
    ? { kind: "tokens", tokens: input.tokens.slice(from, to) }
    : withEntries(input.entries.slice(from, to));
}

/** The number of inputs. */
export function itemsOf(input: EmbeddingInput): number {
  if (input.kind === "text") return input.texts.length;
  return input.kind === "tokens" ? input.tokens.length : input.entries.length;
}
