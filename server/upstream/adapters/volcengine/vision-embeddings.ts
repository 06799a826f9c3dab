/**
 * Vision embedding models of Volcengine's Ark: texts and images as parts of one input, at an endpoint of their own, and
 * one vector for the whole list. So a request holds one entry (byteplus-python-sdk-v2 3.0.63,
 * resources/multimodal_embeddings.py; volcengine-ark-runtime 5.0.54).
 */
import type { EmbeddingsAdapter } from "../../adapter.ts";
import type { EmbeddingCapabilities, EmbeddingsQuery, ExtraFields } from "../../contract.ts";
import { loadedEntries } from "../../mixed-input.ts";
import { textOnlyCapabilities } from "../openai/dialect.ts";
import { embeddingsIn } from "../openai/embeddings.ts";
import { bearer, jsonRequestFor } from "../wire/build-request.ts";
import { chatPart, commonImageTypes } from "../wire/image-parts.ts";
import { memberOf } from "../wire/members.ts";
import { textsOf } from "../wire/native-embeddings.ts";

export const isVision = (model: string): boolean => /embedding-vision/i.test(model);

const capabilities: EmbeddingCapabilities = {
  ...textOnlyCapabilities,
  maxItems: 1,
  dimensions: "any",
  user: false,
  images: { types: commonImageTypes, fuses: "sequence" },
};

const partsOf = (query: EmbeddingsQuery): readonly ExtraFields[] =>
  query.input.kind === "mixed"
    ? loadedEntries(query.input).flat().map(chatPart)
    : textsOf(query).map((text) => ({ type: "text", text }));

export const visionEmbeddings = (baseUrl: string): EmbeddingsAdapter => ({
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) =>
    jsonRequestFor(query)(
      `${upstream.baseUrl ?? baseUrl}/embeddings/multimodal`,
      bearer(upstream),
      {
        ...query.extraFields,
        model,
        input: partsOf(query),
        dimensions: query.dimensions,
        encoding_format: "float",
      },
    ),
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const data = memberOf(body, "data");
    // The SDK's type is a list; the API itself returns the single entry.
    const entries = Array.isArray(data) ? data : [data];
    return embeddingsIn({ data: entries, usage: memberOf(body, "usage") }, query);
  },
});
