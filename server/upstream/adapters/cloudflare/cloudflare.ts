/** Cloudflare Workers AI over its REST API: account and model are in the URL, the response is in an envelope. */
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities, Target } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { bearerJsonRequest, bearerRequest } from "../wire/build-request.ts";
import { memberOf, membersOfList } from "../wire/members.ts";
import { taskTypeOf, textsOf, vectorRows } from "../wire/native-embeddings.ts";
import { truncation } from "../wire/truncation.ts";
import { cloudflareErrorReader } from "./errors.ts";
import {
  aiOf,
  cloudflareBaseUrl,
  cloudflareEdits,
  cloudflareGenerations,
  cloudflareImageCapabilities,
  runOf,
} from "./images.ts";

/** @cloudflare/workers-types: the task type of a model is the name of the field for the texts. */
function taskTypes(model: string): EmbeddingCapabilities["taskTypes"] {
  if (model.includes("qwen3-embedding")) {
    return { field: "input", values: { query: "queries", document: "documents" } };
  }
  return model.includes("bge-m3") ? "indifferent" : { field: "input", values: {} };
}

// cloudflare-docs, workers-ai-models/bge-base-en-v1.5.json: 100 texts per request. No model supports shorter vectors.
const capabilities = ({ model }: Target): EmbeddingCapabilities => ({
  maxItems: 100,
  base64: false,
  tokens: false,
  taskTypes: taskTypes(model),
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(runOf(target), upstream, {
      ...extraFields,
      [taskTypeOf(query, capabilities(target)) ?? "text"]: textsOf(query),
      // The only model with an option for truncation.
      ...(model.includes("bge-m3") && { truncate_inputs: mayTruncate }),
    });
  },
  fromUpstream: async (response) => {
    const body = await response.jsonWithVectors();
    if (memberOf(body, "success") === false) throw invalidResponse("it reports that it failed");
    return { vectors: vectorRows(memberOf(memberOf(body, "result"), "data")) };
  },
};

export const cloudflare: Vendor = {
  kind: {
    name: "cloudflare",
    baseUrl: cloudflareBaseUrl,
    needs: ["apiKey", "accountId"],
    options: {
      accountId: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe("The id of the Cloudflare account."),
    },
  },
  adapter: {
    embeddings,
    models: {
      request: (upstream) =>
        bearerRequest(`${aiOf(upstream)}/models/search?per_page=100`, upstream),
      read: membersOfList("result", "name"),
    },
    generations: cloudflareGenerations,
    edits: cloudflareEdits,
    imageCapabilities: cloudflareImageCapabilities,
    readError: cloudflareErrorReader,
  },
};
