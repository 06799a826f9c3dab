/**
 * The load of a request (inputs, tokens, bytes), and its demand on rate limits: estimated before the request is sent,
 * and actual after it has ended.
 */
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { RequestUsage } from "../request/http-types.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  GenerationQuery,
  InputEntry,
  InputPart,
  MixedInput,
  ModerationQuery,
} from "../upstream/contract.ts";
import { parseSize } from "../upstream/image-sizes.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { estimatedImageTokens, imageBytes, imageCount, pixelsOf } from "../upstream/mixed-input.ts";
import { noDemand } from "./limiter.ts";
import type { Demand } from "./rate-limit-counters.ts";

/** The pixels of an image without a size parameter: 1024x1024. */
const defaultPixels = 1024 * 1024;
/**
 * No model generates more per request. A larger `n` is rejected by a later check with its own error, and not as a rate
 * limit.
 */
const maxImages = 10;

/** The smallest demand of any request. */
export const minimumDemand: Readonly<Record<ModelKind, Demand>> = {
  embedding: { requests: 1, tokens: 1, images: 0, pixels: 0 },
  image: { requests: 1, tokens: 1, images: 1, pixels: 1 },
};

export type LimitedQuery = EmbeddingsQuery | GenerationQuery | ModerationQuery;

export function demandOf(query: LimitedQuery): Demand {
  if ("input" in query) {
    const { tokens, images } = loadOf(query.input);
    return { requests: 1, tokens, images, pixels: images === 0 ? 0 : estimatedPixels(query.input) };
  }
  const { n = 1, size: requested } = query.options;
  const images = Math.min(maxImages, n);
  const size = requested === undefined ? undefined : parseSize(requested);
  const pixels = images * (size ? size.width * size.height : defaultPixels);
  return { requests: 1, tokens: loadOf(prompt(query)).tokens, images, pixels };
}

/** An image that is not downloaded yet counts as 1024x1024, until the request ends. */
const estimatedPixels = (input: EmbeddingInput): number =>
  input.kind === "mixed"
    ? input.entries.reduce(
        (sum, { parts }) => parts.reduce((all, part) => all + pixelsOf(part), sum),
        0,
      )
    : 0;

const prompt = ({ prompt: text }: GenerationQuery): EmbeddingInput => ({
  kind: "text",
  texts: [text],
});

export interface RequestOutcome {
  readonly usage: RequestUsage | undefined;
  /** The pixels of the images that were embedded. If absent, as estimated. */
  readonly inputPixels?: number | undefined;
  /** How many tokens the estimate of these images has more, since they are loaded. */
  readonly moreTokens?: number;
  /** The request was sent to an upstream. */
  readonly wasSent: boolean;
  readonly error: GatewayError | undefined;
}

/**
 * Reported usage counts. Without it the estimate counts, or 0 if the upstream cannot have generated anything. A request
 * that the gateway did not send, because of overload or an unavailable upstream, does not count at all.
 */
export function actualDemand(estimate: Demand, outcome: RequestOutcome): Demand {
  const { usage, wasSent, error, inputPixels = estimate.pixels, moreTokens = 0 } = outcome;
  if (error && !wasSent && isNotClientsFault(error)) return noDemand;
  const wasGenerated = !error || (wasSent && mayHaveBeenGenerated(error));
  const images = usage?.images ?? (wasGenerated ? estimate.images : 0);
  const pixelsPerImage = estimate.images > 0 ? inputPixels / estimate.images : 0;
  return {
    requests: estimate.requests,
    tokens: tokensOf(usage) ?? (wasGenerated ? estimate.tokens + moreTokens : 0),
    images,
    pixels: Math.round(images * pixelsPerImage),
  };
}

function tokensOf(usage: RequestUsage | undefined): number | undefined {
  if (usage?.inputTokens === undefined) return undefined;
  return usage.inputTokens + (usage.outputTokens ?? 0);
}

/** The client did not cause the error, or a retry of the same request may succeed later. */
const isNotClientsFault = ({ definition }: GatewayError): boolean =>
  definition.causedBy !== "client" || definition.retry === "later";

/** A client disconnect, or the end of the gateway, refunds nothing: the upstream may have completed the request. */
const mayHaveBeenGenerated = (error: GatewayError): boolean => mayHaveBeenBilled(1, error);

export interface RequestLoad {
  readonly items: number;
  /** Exact for arrays of tokens, an estimate for texts and images. */
  readonly tokens: number;
  /** Bytes of texts in UTF-8, and of images. */
  readonly bytes: number;
  readonly images: number;
}

export function loadOf(input: EmbeddingInput): RequestLoad {
  const items = countInputs(input);
  let tokens = 0;
  let bytes = 0;
  let images = 0;
  for (let at = 0; at < items; at++) {
    const inputBytes = bytesAt(input, at);
    bytes += inputBytes;
    tokens += tokensAt(input, at, inputBytes);
    images += imagesAt(input, at);
  }
  return { items, tokens, bytes, images };
}

/** The number of inputs. */
function countInputs(input: EmbeddingInput): number {
  if (input.kind === "text") return input.texts.length;
  return input.kind === "tokens" ? input.tokens.length : input.entries.length;
}

/** The images of the input at this index. */
export const imagesAt = (input: EmbeddingInput, at: number): number =>
  input.kind === "mixed" ? imageCount(entryAt(input, at)) : 0;

const entryAt = ({ entries }: MixedInput, at: number): InputEntry => entries[at] ?? { parts: [] };

/** Bytes of the input at this index: of texts in UTF-8, and of images that are loaded. */
export function bytesAt(input: EmbeddingInput, at: number): number {
  if (input.kind === "text") return Buffer.byteLength(input.texts[at] ?? "");
  return input.kind === "tokens" ? 0 : sumOver(entryAt(input, at), partBytes);
}

const partBytes = (part: InputPart): number =>
  part.kind === "text" ? Buffer.byteLength(part.text) : imageBytes(part);

const sumOver = ({ parts }: InputEntry, sizeOf: (part: InputPart) => number): number =>
  parts.reduce((sum, part) => sum + sizeOf(part), 0);

/**
 * Estimate for text: one token for four ASCII characters, three quarters of a token for each two-byte letter (Greek,
 * Cyrillic, Arabic), five quarters for each three-byte character (Chinese, Hindi). Vocabularies differ and no tokenizer
 * runs, so the estimate may be wrong; then the upstream refuses the request, and the gateway splits the request.
 */
export function tokensAt(input: EmbeddingInput, at: number, bytes: number): number {
  if (input.kind === "text") return textTokens(input.texts[at] ?? "", bytes);
  return input.kind === "tokens"
    ? (input.tokens[at]?.length ?? 0)
    : sumOver(entryAt(input, at), partTokens);
}

const textTokens = ({ length }: string, bytes: number): number =>
  Math.ceil(length / 4 + (bytes - length) / 2);

function partTokens(part: InputPart): number {
  if (part.kind === "text") return textTokens(part.text, Buffer.byteLength(part.text));
  return part.kind === "tokens" ? part.tokens.length : estimatedImageTokens(part);
}
