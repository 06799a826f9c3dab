/**
 * The part of the first embeddings stage that only requests with images need: loads the images, and puts texts before
 * images, so that the `split` stage can send them apart. The response has the client's order.
 */
import type { StageRequest } from "../../request/stage.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  InputEntry,
  MixedInput,
} from "../../upstream/contract.ts";
import { hasImage } from "../../upstream/mixed-input.ts";
import { remapInputIndex } from "../../upstream/rejected-input.ts";

/** Returns the input with its images in place of their links. Throws GatewayError. */
export type LoadImages = (
  request: StageRequest<EmbeddingsQuery>,
  input: MixedInput,
) => Promise<MixedInput>;

export async function embedMixed(
  request: StageRequest<EmbeddingsQuery>,
  input: MixedInput,
  load: LoadImages,
  next: (request: StageRequest<EmbeddingsQuery>) => Promise<EmbeddingsResponse>,
): Promise<EmbeddingsResponse> {
  const { entries } = await load(request, input);
  const order = textsFirst(entries);
  const sorted = order.map((index) => entries[index] as InputEntry);
  const query = { ...request.query, input: { kind: "mixed", entries: sorted } } as const;
  try {
    return inClientOrder(await next({ ...request, query }), order);
  } catch (error) {
    throw remapInputIndex(error, order);
  }
}

/** The client's indexes of the entries, in the order in which they are sent. */
const textsFirst = (entries: readonly InputEntry[]): readonly number[] => {
  const indexes = [...entries.keys()];
  const isImage = (index: number): boolean => hasImage(entries[index] as InputEntry);
  return [...indexes.filter((index) => !isImage(index)), ...indexes.filter(isImage)];
};

function inClientOrder(response: EmbeddingsResponse, order: readonly number[]): EmbeddingsResponse {
  if (order.every((index, at) => index === at)) return response;
  const { verbatim: _, serialized: __, ...others } = response;
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
