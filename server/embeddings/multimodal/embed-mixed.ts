/**
 * What only requests of several kinds of entries need. In the first embeddings stage: loads the images, and puts texts
 * before token arrays before images, so that the `split` stage can send them apart; the response has the client's order.
 * In the last stage: converts images to a format that the target reads, and computes the cost.
 */
import type { Send, StageRequest } from "../../request/stage.ts";
import { mixedCost } from "../../upstream/catalog/prices/mixed-cost.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ImageInputCapabilities,
  InputEntry,
  InputPart,
  MixedInput,
  Target,
} from "../../upstream/contract.ts";
import { estimatedImageTokens, kindOfEntry, pixelsOf } from "../../upstream/mixed-input.ts";
import { remapInputIndex } from "../../upstream/rejected-input.ts";
import { estimateInputTokens } from "../embedding-usage.ts";
import { needsConversion } from "./image-refusal.ts";

/** Returns the input with its images in place of their links. Throws GatewayError. */
export type LoadImages = (
  request: StageRequest<EmbeddingsQuery>,
  input: MixedInput,
) => Promise<MixedInput>;

/** Returns the input with images in formats that the target reads. Throws GatewayError. */
export type ConvertImages = (
  input: MixedInput,
  images: ImageInputCapabilities,
  request: StageRequest<EmbeddingsQuery>,
) => Promise<MixedInput>;

export const sendMixed =
  (
    capabilities: (target: Target) => EmbeddingCapabilities,
    convert: ConvertImages,
    next: Send<EmbeddingsQuery, EmbeddingsResponse>,
  ): Send<EmbeddingsQuery, EmbeddingsResponse> =>
  async (request) => {
    const { query, target } = request;
    const { images } = target ? capabilities(target) : {};
    if (query.input.kind !== "mixed" || !target || !images) return next(request);
    const { input } = query;
    const readable = needsConversion(input, images) ? await convert(input, images, request) : input;
    const response = await next({ ...request, query: { ...query, input: readable } });
    if (response.cost !== undefined) return response;
    const cost = mixedCost(input, response.usage, target);
    return cost === undefined ? response : { ...response, cost };
  };

export async function embedMixed(
  request: StageRequest<EmbeddingsQuery>,
  input: MixedInput,
  load: LoadImages,
  next: (request: StageRequest<EmbeddingsQuery>) => Promise<EmbeddingsResponse>,
): Promise<EmbeddingsResponse> {
  const loaded = await load(request, input);
  const { entries } = loaded;
  const parts = partsOf(loaded);
  request.report.addLoadedImages(
    parts.reduce((sum, part) => sum + pixelsOf(part), 0),
    estimatedTokens(parts) - estimatedTokens(partsOf(input)),
  );
  const order = byKind(entries);
  const sorted = order.map((index) => entries[index] as InputEntry);
  const query = { ...request.query, input: { kind: "mixed", entries: sorted } } as const;
  try {
    const response = inClientOrder(await next({ ...request, query }), order);
    // The client's query has links, without the sizes of their images.
    return response.usage
      ? response
      : { ...response, estimatedTokens: await estimateInputTokens(loaded) };
  } catch (error) {
    throw remapInputIndex(error, order);
  }
}

const partsOf = ({ entries }: MixedInput): readonly InputPart[] =>
  entries.flatMap(({ parts }) => parts);

const estimatedTokens = (parts: readonly InputPart[]): number =>
  parts.reduce((sum, part) => sum + estimatedImageTokens(part), 0);

/** The client's indexes of the entries, in the order in which they are sent. */
const byKind = (entries: readonly InputEntry[]): readonly number[] => {
  const indexes: Record<ReturnType<typeof kindOfEntry>, number[]> = {
    text: [],
    tokens: [],
    image: [],
  };
  for (const [index, entry] of entries.entries()) indexes[kindOfEntry(entry)].push(index);
  return [...indexes.text, ...indexes.tokens, ...indexes.image];
};

function inClientOrder(response: EmbeddingsResponse, order: readonly number[]): EmbeddingsResponse {
  if (order.every((index, at) => index === at)) return response;
  const { verbatim: _, ...others } = response;
  const { usage } = response;
  const perInput = usage?.perInput && reordered(usage.perInput, order);
  return {
    ...others,
    vectors: reordered(response.vectors, order),
    ...(usage && { usage: { ...usage, ...(perInput && { perInput }) } }),
  };
}

function reordered<T>(sent: readonly T[], order: readonly number[]): T[] {
  const list = new Array<T>(sent.length);
  for (const [at, index] of order.entries()) list[index] = sent[at] as T;
  return list;
}
