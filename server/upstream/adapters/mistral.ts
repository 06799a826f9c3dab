/** Mistral: OpenAI-compatible with another name for `dimensions`; it rejects every unknown field. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Target } from "../contract.ts";
import { readEmbeddingsResponse } from "./openai/embeddings.ts";
import { bearerJsonRequest } from "./wire/build-request.ts";
import { memberOf } from "./wire/members.ts";
import { textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { base64Option } from "./wire/options.ts";

const baseUrl = "https://api.mistral.ai/v1";

/**
 * Mistral documents base64 but responds with plain numbers (Mintplex-Labs/anything-llm#5794), so base64 is requested
 * only if the operator sets the option.
 */
const takesBase64 = ({ upstream }: Target): boolean => upstream.options.base64 === true;

// "Too many tokens in batch. Max is 16384" (aurelio-labs/semantic-router#297). Mistral accepts 256 texts and refuses
// 257, and only codestral-embed supports other vector lengths (rig-core, providers/mistral/embedding.rs). Mistral's own
// pages document neither.
const capabilities = (target: Target): EmbeddingCapabilities => ({
  maxItems: 256,
  maxTokens: 16_384,
  base64: takesBase64(target),
  tokens: false,
  taskTypes: "indifferent",
  ...(target.model.startsWith("codestral-embed") && { dimensions: "any", outputTypes }),
});

/** docs.mistral.ai/capabilities/embeddings/code_embeddings: codestral-embed quantizes, into lists of integers. */
const outputTypes = { field: "output_dtype", types: ["int8", "uint8", "ubinary"] } as const;

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    return bearerJsonRequest(`${upstream.baseUrl ?? baseUrl}/embeddings`, upstream, {
      ...query.extraFields,
      model,
      input: textsOf(query),
      output_dimension: query.dimensions,
      encoding_format: takesBase64(target) && !query.outputType ? "base64" : undefined,
      output_dtype: query.outputType?.type,
    });
  },
  fromUpstream: readEmbeddingsResponse,
};

export const mistral: Vendor = {
  kind: {
    name: "mistral",
    baseUrl,
    needs: ["apiKey"],
    serves: "embedding",
    options: { base64: base64Option },
  },
  adapter: {
    embeddings,
    readError: nativeErrorReader({
      classify: ({ message, body }) => {
        if (/^Too many (tokens|inputs)\b/.test(message)) return "too much at once";
        return memberOf(body, "type") === "invalid_model" && "no such model";
      },
    }),
  },
};
