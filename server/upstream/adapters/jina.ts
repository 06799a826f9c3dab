/** Jina AI: OpenAI-compatible except for the task type and the encoding of the vectors. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../contract.ts";
import { onlyImages } from "../mixed-input.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { embeddingsIn, readEmbeddingsResponse } from "./openai/embeddings.ts";
import { bearer, FileContent, jsonRequestFor } from "./wire/build-request.ts";
import { commonImageTypes, imageUsageOf } from "./wire/image-parts.ts";
import { memberOf } from "./wire/members.ts";
import { taskTypeOf, textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

const baseUrl = "https://api.jina.ai/v1";

const retrieval = { query: "retrieval.query", document: "retrieval.passage" } as const;
const matching = { similarity: "text-matching" } as const;

/** api.jina.ai/openapi.json: the tasks of each model. */
function tasks(model: string): TaskTypeTable["values"] {
  const classification = "classification";
  if (model.includes("embeddings-v3")) {
    return { ...retrieval, ...matching, classification, clustering: "separation" };
  }
  if (model.includes("embeddings-v4")) {
    return { ...retrieval, ...matching, "code-query": "code.query" };
  }
  if (model.includes("code-embeddings")) {
    const query = "nl2code.query";
    return { query, document: "nl2code.passage", "code-query": query, question: "qa.query" };
  }
  if (model.includes("clip")) return { query: retrieval.query };
  return { ...retrieval, ...matching, classification, clustering: "clustering" };
}

// The same document: 512 inputs per request, any length up to the model's own, normalized vectors by default.
// It packs bits, and does not make bytes.
const limits = {
  maxItems: 512,
  base64: true,
  tokens: false,
  normalized: true,
  outputTypes: { field: "embedding_type", types: ["ubinary"] },
} as const;

function capabilities({ model }: Target): EmbeddingCapabilities {
  // The second generation supports neither tasks nor shorter vectors.
  if (model.includes("embeddings-v2")) return { ...limits, taskTypes: "indifferent" };
  return {
    ...limits,
    dimensions: "any",
    taskTypes: { field: "task", values: tasks(model) },
    ...(/clip|embeddings-v4/.test(model) && { images }),
  };
}

/** The same document, ImageDoc: `image` is a link or base64, of 8 MB at most. A text and an image are not fused. */
const images = { types: commonImageTypes, maxBytes: 8_000_000 } as const;

const inputOf = (query: EmbeddingsQuery): readonly unknown[] =>
  query.input.kind === "mixed"
    ? onlyImages(query.input).map(({ file }) => ({ image: new FileContent(file) }))
    : textsOf(query);

/** All tokens of a request with images are those of images. */
function readImageVectors(body: unknown, query: EmbeddingsQuery): EmbeddingsResponse {
  const { vectors } = embeddingsIn(body, query);
  return { vectors, ...imageUsageOf(0, memberOf(memberOf(body, "usage"), "total_tokens")) };
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const build = jsonRequestFor(query);
    return build(`${upstream.baseUrl ?? baseUrl}/embeddings`, bearer(upstream), {
      ...query.extraFields,
      model,
      input: inputOf(query),
      task: taskTypeOf(query, capabilities(target)),
      dimensions: query.dimensions,
      embedding_type: query.outputType?.type ?? "base64",
    });
  },
  fromUpstream: async (response, query) =>
    query.input.kind === "mixed"
      ? readImageVectors(await response.jsonWithVectors(), query)
      : readEmbeddingsResponse(response, query),
};

export const jina: Vendor = {
  kind: { name: "jina", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    readError: nativeErrorReader({
      classify: ({ body }) => {
        // The code is next to the message, at the top level or in `detail`.
        const code = memberOf(body, "code") ?? memberOf(memberOf(body, "detail"), "code");
        if (code === "INPUT_MODEL_NOT_FOUND") return "no such model";
        return code === "AUTHZ_INSUFFICIENT_BALANCE" && "no credit";
      },
    }),
  },
};
