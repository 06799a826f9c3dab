/**
 * Vertex AI's `multimodalembedding@001`, for texts: the same method as the text models, with other names.
 * google-cloud-aiplatform 2.7.0, vision_models.py, MultiModalEmbeddingModel.get_embeddings (read on 2026-11-17): one
 * instance per request, `text`, `dimension`, and a vector each for text and image.
 */
import type { UpstreamResponse } from "../../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
} from "../../contract.ts";
import { listIn } from "../wire/members.ts";
import { textsOf, vectorIn } from "../wire/native-embeddings.ts";
import { truncation } from "../wire/truncation.ts";

export const isMultimodalEmbedding = (model: string): boolean =>
  /\bmultimodalembedding\b/.test(model);

export const multimodalCapabilities: EmbeddingCapabilities = {
  maxItems: 1,
  base64: false,
  tokens: false,
  dimensions: [128, 256, 512, 1408],
  taskTypes: "indifferent",
};

/** The model has no option for truncation. */
export function multimodalBody(query: EmbeddingsQuery): ExtraFields {
  const { extraFields } = truncation(query);
  const parameters = {
    ...extraFields,
    ...(query.dimensions !== undefined && { dimension: query.dimensions }),
  };
  return {
    instances: textsOf(query).map((text) => ({ text })),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
}

/** It reports no tokens: Google charges for characters. */
export const readMultimodal = async (response: UpstreamResponse): Promise<EmbeddingsResponse> => ({
  vectors: listIn(await response.json(), "predictions").map((prediction) =>
    vectorIn(prediction, "textEmbedding"),
  ),
});
