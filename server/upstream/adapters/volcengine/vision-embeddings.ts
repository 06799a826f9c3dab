/**
 * Vision embedding models of Volcengine's Ark: texts as parts of one input, at an endpoint of their own, and one vector
 * for the whole list. So a request holds one text (byteplus-python-sdk-v2 3.0.63, resources/multimodal_embeddings.py).
 */
import type { EmbeddingsAdapter } from "../../adapter.ts";
import type { EmbeddingCapabilities } from "../../contract.ts";
import { textOnlyCapabilities } from "../openai/dialect.ts";
import { embeddingsIn } from "../openai/embeddings.ts";
import { bearerJsonRequest } from "../wire/build-request.ts";
import { memberOf } from "../wire/members.ts";
import { textsOf } from "../wire/native-embeddings.ts";

export const isVision = (model: string): boolean => /embedding-vision/i.test(model);

const capabilities: EmbeddingCapabilities = {
  ...textOnlyCapabilities,
  maxItems: 1,
  dimensions: "any",
  user: false,
};

export const visionEmbeddings = (baseUrl: string): EmbeddingsAdapter => ({
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) =>
    bearerJsonRequest(`${upstream.baseUrl ?? baseUrl}/embeddings/multimodal`, upstream, {
      ...query.extraFields,
      model,
      input: textsOf(query).map((text) => ({ type: "text", text })),
      dimensions: query.dimensions,
      encoding_format: "float",
    }),
  fromUpstream: async (response, query) => {
    const body = await response.json();
    const data = memberOf(body, "data");
    // The SDK's type is a list; the API itself returns the single entry.
    const entries = Array.isArray(data) ? data : [data];
    return embeddingsIn({ data: entries, usage: memberOf(body, "usage") }, query);
  },
});
