/**
 * Vertex AI's `multimodalembedding@001`: the same method as the text models, with other names.
 * google-cloud-aiplatform 2.7.0, vision_models.py, MultiModalEmbeddingModel.get_embeddings (read on 2026-11-17): one
 * instance per request, `text`, `image`, `dimension`, and a vector each for text and image, so it fuses nothing.
 */
import type { UpstreamResponse } from "../../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
} from "../../contract.ts";
import { onlyImages } from "../../mixed-input.ts";
import { FileContent } from "../wire/build-request.ts";
import { commonImageTypes } from "../wire/image-parts.ts";
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
  images: { types: commonImageTypes },
};

const instancesOf = (query: EmbeddingsQuery): readonly ExtraFields[] =>
  query.input.kind === "mixed"
    ? onlyImages(query.input).map(({ file }) => ({
        image: { bytesBase64Encoded: new FileContent(file) },
      }))
    : textsOf(query).map((text) => ({ text }));

/** The model has no option for truncation. */
export function multimodalBody(query: EmbeddingsQuery): ExtraFields {
  const { extraFields } = truncation(query);
  const parameters = {
    ...extraFields,
    ...(query.dimensions !== undefined && { dimension: query.dimensions }),
  };
  return {
    instances: instancesOf(query),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
}

/** It reports no tokens: Google charges for characters and images. */
export const readMultimodal = async (
  response: UpstreamResponse,
  { input }: EmbeddingsQuery,
): Promise<EmbeddingsResponse> => ({
  vectors: listIn(await response.jsonWithVectors(), "predictions").map((prediction) =>
    vectorIn(prediction, input.kind === "mixed" ? "imageEmbedding" : "textEmbedding"),
  ),
});
