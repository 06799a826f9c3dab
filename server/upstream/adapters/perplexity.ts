/** Perplexity: OpenAI-compatible, except that each number of a vector is one signed byte (int8). */
import { reverseBits } from "../../lib/packed-bits.ts";
import { EncodedVector } from "../../lib/vector-codec/index.ts";
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import { isContextualModel } from "../contextual.ts";
import type { EmbeddingCapabilities, QuantizedType, Target, Vector } from "../contract.ts";
import { invalidResponse } from "../invalid-response.ts";
import { readEmbeddingsResponse } from "./openai/embeddings.ts";
import { bearerJsonRequest } from "./wire/build-request.ts";
import { readDocumentChunks } from "./wire/document-chunks.ts";
import { textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

const baseUrl = "https://api.perplexity.ai/v1";

// perplexityai 0.46.1, embedding_create_params: 512 texts and 120,000 tokens per request, for contextual models 16,000
// chunks. docs.perplexity.ai/docs/embeddings: no prefixes, and vectors that are not normalized, compared by cosine
// similarity.
const capabilities = ({ model }: Target): EmbeddingCapabilities => ({
  maxItems: isContextualModel(model) ? 16_000 : 512,
  maxTokens: 120_000,
  base64: true,
  tokens: false,
  dimensions: "any",
  taskTypes: "indifferent",
  normalized: false,
  outputTypes: { field: "encoding_format", types: ["int8", "ubinary"] },
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, { upstream, model }) => {
    const contextual = isContextualModel(model);
    const path = contextual ? "contextualizedembeddings" : "embeddings";
    const texts = textsOf(query);
    return bearerJsonRequest(`${upstream.baseUrl ?? baseUrl}/${path}`, upstream, {
      ...query.extraFields,
      model,
      // The chunks of one document.
      input: contextual ? [texts] : texts,
      dimensions: query.dimensions,
      encoding_format: query.outputType?.type === "ubinary" ? "base64_binary" : "base64_int8",
    });
  },
  fromUpstream: async (response, query, { model }) => {
    const { vectors, usage } = isContextualModel(model)
      ? readDocumentChunks(await response.jsonWithVectors(), query)
      : await readEmbeddingsResponse(response, query);
    const decoded = vectors.map((vector) => decode(vector, query.outputType?.type));
    return { vectors: decoded, ...(usage && { usage }) };
  },
};

/**
 * As float32 the numbers are unchanged, from -128 to 127: the scale is lost, and cosine similarity does not need it.
 * docs.perplexity.ai/docs/embeddings/best-practices: the first dimension is the lowest bit of `base64_binary`.
 */
function decode(vector: Vector, type: QuantizedType | undefined): Vector {
  if (typeof vector !== "string" && !(vector instanceof EncodedVector)) return vector;
  try {
    const bytes = Uint8Array.fromBase64(String(vector), { lastChunkHandling: "strict" });
    if (type === "ubinary") return reverseBits(bytes);
    const numbers = new Int8Array(bytes.buffer);
    return type === "int8" ? numbers : Float32Array.from(numbers);
  } catch {
    throw invalidResponse("a vector is not base64");
  }
}

export const perplexity: Vendor = {
  kind: { name: "perplexity", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: { embeddings, readError: nativeErrorReader() },
};
