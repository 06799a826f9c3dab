/**
 * Response verification, inside every attempt: the number and length of the vectors, no NaN, no Infinity and no
 * zero vector; the type of images. An invalid response is a failure of that target. The next target is then tried,
 * but not for an image that may have been billed, unless the model sets `retryPaid`.
 *
 * Then checks the reported usage for plausibility: clients are charged for the usage that an upstream reports, so one
 * absurd number must not use up a month's budget. Usage above the possible maximum is dropped: the usage is unknown
 * then, never a guess.
 */

import { isBits, readQuantized } from "../embeddings/quantized-vectors.ts";
import { itemsOf } from "../embeddings/split.ts";
import { inspectVector } from "../embeddings/vector-formats.ts";
import { imageTypeOf } from "../images/image-head.ts";
import { isImageUrl } from "../lib/url-scheme.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import type { TargetResponse } from "../limits/target-limits.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { RequestUsage } from "../request/http-types.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageContent,
  ImageEvent,
  ImageResponse,
  ImageUsage,
  InputEntry,
  ModerationQuery,
  ModerationResponse,
  OutputType,
  Target,
  Vector,
} from "../upstream/contract.ts";
import { countSources } from "../upstream/edit-sources.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { imageCount, pixelsOf } from "../upstream/mixed-input.ts";

export interface VerifyOptions {
  /** Called when a target reports impossible usage. */
  readonly onImplausibleUsage: (request: StageRequest<unknown>, usage: ImplausibleUsage) => void;
}

interface VerifyEmbeddingsOptions extends VerifyOptions {
  /** The drift canary found that the target drifted while the request was in flight. */
  readonly hasDrifted: (model: PermittedModel, target: Target) => boolean;
}

export const verifyEmbeddingsStage =
  ({
    onImplausibleUsage,
    hasDrifted,
  }: VerifyEmbeddingsOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (request) =>
    next(request).then((response) => {
      const { target, model } = request;
      // A single target has no other to be compared with.
      if (target && model.targets.length > 1 && hasDrifted(model, target)) {
        throw invalidResponse(
          "its vectors are not in the vector space of the model's other targets",
        );
      }
      const verified = verifyEmbeddings(
        response.truncated ? withTruncation(response) : response,
        request.query,
        model.dimensions,
      );
      return dropImplausibleEmbeddingsUsage(verified, request.query, (usage) =>
        onImplausibleUsage(request, usage),
      );
    });

/** What a vector has one number for. */
const unitOf = ({ type }: OutputType) => (isBits(type) ? "bytes" : "dimensions");

const lengthIn = (unit: "bytes" | "dimensions", dimensions: number | undefined) =>
  dimensions !== undefined && unit === "bytes" ? dimensions / 8 : dimensions;

const withTruncation = (response: EmbeddingsResponse): EmbeddingsResponse => {
  const { adapted = [], dropped } = response.deviations ?? {};
  return { ...response, deviations: { adapted: [...adapted, "input"], dropped } };
};

export const verifyImagesStage =
  <Q extends GenerationQuery>({ onImplausibleUsage }: VerifyOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) =>
    dropImplausibleImageUsage(verifyOne(await next(request)), request.query, (implausible) => {
      request.report.addStep("implausible", { quantity: implausible.quantity });
      onImplausibleUsage(request, implausible);
    });

/** Each of several images is verified when it is post-processed: an invalid one does not fail the others. */
const verifyOne = (response: ImageResponse): ImageResponse =>
  response.kind === "buffered" && response.results.length > 1 ? response : verifyImages(response);

/**
 * Verifies an embeddings response: one vector for each input, all of one length, finite and not zero. Quantized vectors
 * are within the range of their type.
 */
export function verifyEmbeddings(
  received: EmbeddingsResponse,
  query: EmbeddingsQuery,
  nativeDimensions: number | undefined,
): EmbeddingsResponse {
  const { input, dimensions, outputType } = query;
  const response = outputType ? readQuantized(received, outputType) : received;
  const expected = itemsOf(input);
  if (response.vectors.length !== expected) {
    throw invalidResponse(`${response.vectors.length} vectors for ${expected} inputs`);
  }
  const unit = outputType ? unitOf(outputType) : "dimensions";
  let length = lengthIn(unit, dimensions ?? nativeDimensions);
  const { vectors } = response;
  for (let at = 0; at < vectors.length; at++) {
    const inspected = inspectVector(vectors[at] as Vector);
    if (!inspected) throw invalidResponse(`vector ${at} is not base64 of float32 numbers`);
    length ??= inspected.length;
    if (inspected.length !== length || length === 0) {
      throw invalidResponse(`vector ${at} has ${inspected.length} ${unit} instead of ${length}`);
    }
    if (inspected.validity === "valid") continue;
    throw invalidResponse(
      inspected.validity === "zero"
        ? `vector ${at} is all zeros`
        : `vector ${at} contains a value that is not a finite number`,
    );
  }
  return response;
}

/** Verifies an image response: every image is an image or a link, and a stream ends with a completed image. */
export function verifyImages(response: ImageResponse): ImageResponse {
  if (response.kind === "stream") return { kind: "stream", events: verifyEvents(response.events) };
  if (response.results.length === 0) throw invalidResponse("it contains no image");
  for (const result of response.results) checkImage(result.image);
  return response;
}

/** Completed images are checked one by one during post-processing: one invalid image does not fail the others. */
async function* verifyEvents(events: AsyncIterable<ImageEvent>): AsyncIterable<ImageEvent> {
  let completed = 0;
  for await (const event of events) {
    if (event.type === "buffered") completed += event.response.results.length;
    else if (event.type === "completed") completed++;
    // A partial image is optional: an invalid one is dropped.
    else if (imageTypeOf(event.image) === undefined) continue;
    yield event;
  }
  if (completed === 0) throw invalidResponse("the stream ended before the image was complete");
}

function checkImage(image: ImageContent): void {
  if (image.kind === "url") {
    if (!isImageUrl(image.url)) throw invalidResponse("it contains a URL that is not valid");
  } else if (imageTypeOf(image) === undefined)
    throw invalidResponse("it contains data that is not an image");
}

/** For the log. */
export interface ImplausibleUsage {
  readonly quantity: "input tokens" | "tokens" | "cost";
  readonly reported: number;
  /** The highest plausible value. */
  readonly max: number;
}

type OnImplausibleUsage = (usage: ImplausibleUsage) => void;

/** Tokens per text besides those of the text itself: special tokens, and the instructions that some models prepend. */
const aroundText = 256;
/** Reported tokens per input token, for a target that reads the tokens as text with another vocabulary. */
const perToken = 16;

export function dropImplausibleEmbeddingsUsage(
  reportedResponse: EmbeddingsResponse,
  { input }: Pick<EmbeddingsQuery, "input">,
  onImplausibleUsage: OnImplausibleUsage,
): EmbeddingsResponse {
  const response = dropImplausibleCost(reportedResponse, input, onImplausibleUsage);
  const { inputTokens, totalTokens } = response.usage ?? {};
  const reported =
    inputTokens === undefined || totalTokens === undefined
      ? inputTokens
      : Math.max(inputTokens, totalTokens);
  if (reported === undefined) return response;
  const max = maxTokens(input);
  if (reported >= 0 && reported <= max) return response;
  onImplausibleUsage({ quantity: "input tokens", reported, max });
  // The verbatim body contains the same implausible usage, so it is not passed on either.
  const { usage: _, verbatim: __, ...others } = response;
  return others;
}

/** US dollars for a million tokens, over twenty times the highest list price of the catalog. */
const dollarsPerMillionTokens = 20;

function dropImplausibleCost(
  response: EmbeddingsResponse,
  input: EmbeddingInput,
  onImplausibleUsage: OnImplausibleUsage,
): EmbeddingsResponse {
  const { cost, ...others } = response;
  if (cost === undefined) return response;
  const images = input.kind === "mixed" ? sumOver(input.entries, imageCount) : 0;
  const max = (maxTokens(input) * dollarsPerMillionTokens) / 1_000_000 + images * dollarsPerImage;
  if (cost <= max) return response;
  onImplausibleUsage({ quantity: "cost", reported: cost, max });
  return others;
}

/** Upper bound: two tokens per byte, because normalization may expand unusual characters. */
function maxTokens(input: EmbeddingInput): number {
  if (input.kind === "mixed") return sumOver(input.entries, maxTokensOfEntry);
  if (input.kind === "tokens") {
    const counted = input.tokens.reduce((sum, { length }) => sum + length, 0);
    return aroundText * input.tokens.length + perToken * counted;
  }
  const bytes = input.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return aroundText * input.texts.length + 2 * bytes;
}

/** Pixels of an image for each token. Voyage counts a token for 560 pixels, others fewer tokens. */
const minPixelsPerToken = 256;

const maxTokensOfEntry = (entry: InputEntry): number =>
  aroundText +
  sumOver(entry.parts, (part) => {
    if (part.kind === "text") return 2 * Buffer.byteLength(part.text);
    if (part.kind === "tokens") return perToken * part.tokens.length;
    return perInputImage + pixelsOf(part) / minPixelsPerToken;
  });

const sumOver = <T>(list: readonly T[], sizeOf: (one: T) => number): number =>
  list.reduce((sum, one) => sum + sizeOf(one), 0);

/** Input tokens besides the prompt: instructions, and a revised prompt. */
const aroundPrompt = 16_384;
/** Tokens per input image. The most that any vendor documents is 6,821: see `image-tokens.ts`. */
const perInputImage = 16_384;
/** Tokens per output image, including reasoning: Google ends a response at 32,768, an image takes less than 15,000. */
const perOutputImage = 65_536;
/** US dollars per image. No vendor's list price reaches a tenth of this amount. */
const dollarsPerImage = 10;

/** A moderation model may read instructions besides the prompt, as an image model does. */
export function dropImplausibleModerationUsage(
  response: ModerationResponse,
  { input }: Pick<ModerationQuery, "input">,
  onImplausibleUsage: OnImplausibleUsage,
): ModerationResponse {
  const reported = response.usage?.inputTokens ?? 0;
  const max = aroundPrompt + maxTokens(input);
  if (reported <= max) return response;
  onImplausibleUsage({ quantity: "input tokens", reported, max });
  const { usage: _, ...others } = response;
  return others;
}

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

function dropImplausibleBufferedUsage(
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
  if (!isCostPlausible) onImplausibleUsage({ quantity: "cost", reported: cost, max });
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
  const inputTokens =
    aroundPrompt + 2 * Buffer.byteLength(query.prompt) + countSources(query) * perInputImage;
  const max = imageCount * (inputTokens + perOutputImage);
  const reported = Math.max(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  if (reported <= max) return true;
  onImplausibleUsage({ quantity: "tokens", reported, max });
  return false;
}

/** For target limits. Implausible usage is not counted; the verify stages report it. */
export function plausibleUsage(
  response: TargetResponse,
  query: LimitedQuery,
): RequestUsage | undefined {
  if ("vectors" in response)
    return "input" in query
      ? dropImplausibleEmbeddingsUsage(response, query, ignoreImplausible).usage
      : undefined;
  if ("flagged" in response)
    return "input" in query
      ? dropImplausibleModerationUsage(response, query, ignoreImplausible).usage
      : undefined;
  if (response.kind === "stream" || "input" in query) return undefined;
  const { usage, results } = dropImplausibleBufferedUsage(response, query, ignoreImplausible);
  return {
    images: results.length,
    ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  };
}

const ignoreImplausible = (): void => undefined;
