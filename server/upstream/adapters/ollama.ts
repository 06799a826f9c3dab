/** Ollama's native API: its /v1 truncates long inputs silently, the native API does not. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Adapter, EmbeddingsAdapter, Vendor } from "../adapter.ts";
import { knownEmbedding } from "../catalog/index.ts";
import type { EmbeddingCapabilities, Upstream } from "../contract.ts";
import { bearerJsonRequest, bearerRequest } from "./wire/build-request.ts";
import { memberOf, membersOfList } from "./wire/members.ts";
import { textsOf, usageOf, vectorRows } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { truncation } from "./wire/truncation.ts";

const baseUrl = "http://127.0.0.1:11434";

/** A configured base URL is often that of the OpenAI-compatible API. */
const baseUrlOf = (upstream: Upstream): string =>
  (upstream.baseUrl ?? baseUrl).replace(/\/v1$/, "");

// ollama/ollama, server/routes.go (EmbedHandler): no limit on the number of texts, so OpenAI's limit applies. Every
// vector is normalized, and a shortened vector is normalized again. Clients add the prefixes of queries and documents.
const known: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: false,
  taskTypes: { field: "prompt", values: {} },
  normalized: true,
};
// The same file: `dimensions` truncates the vectors of every model, even if truncated vectors are not valid, and is
// ignored if it exceeds the model's length. So the gateway shortens the vectors of known models.
const unknown: EmbeddingCapabilities = { ...known, dimensions: "any" };

const embeddings: EmbeddingsAdapter = {
  capabilities: ({ model }) => (knownEmbedding(model, "ollama") ? known : unknown),
  toUpstream: (query, { upstream, model }) => {
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(`${baseUrlOf(upstream)}/api/embed`, upstream, {
      ...extraFields,
      model,
      input: textsOf(query),
      truncate: mayTruncate,
      dimensions: query.dimensions,
    });
  },
  fromUpstream: async (response) => {
    const body = await response.jsonWithVectors();
    return {
      vectors: vectorRows(memberOf(body, "embeddings")),
      ...usageOf(memberOf(body, "prompt_eval_count")),
    };
  },
};

const readNativeError = nativeErrorReader({
  classify: ({ status, message }) => {
    if (status === 404) return /\bmodel\b.*\bnot found\b/.test(message) && "no such model";
    // Older versions return 500.
    return /\bexceeds (the|maximum) context length\b/.test(message) && "rejected";
  },
});

const readError: Adapter["readError"] = async (response, context) => {
  const error = await readNativeError(response, context);
  if (error.kind !== "model_not_found") return error;
  return new GatewayError(
    "model_not_found",
    "The Ollama behind this model does not have it. Ask the operator of this gateway to pull it there.",
    { ...error.details, logDetail: `ollama pull ${context.target.model}` },
  );
};

export const ollama: Vendor = {
  kind: { name: "ollama", baseUrl, needs: [], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    models: {
      request: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/api/tags`, upstream),
      read: membersOfList("models", "name"),
    },
    readError,
  },
};
