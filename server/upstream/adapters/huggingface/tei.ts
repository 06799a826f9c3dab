/**
 * Hugging Face's text-embeddings-inference, native API: its /v1 truncates long inputs silently, the native API does
 * not.
 */
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities, Target, Upstream } from "../../contract.ts";
import { bearerJsonRequest, bearerRequest } from "../wire/build-request.ts";
import { memberOf } from "../wire/members.ts";
import { taskTypeOf, textsOf, usageOf, vectorRows } from "../wire/native-embeddings.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { truncation } from "../wire/truncation.ts";
import { promptsOf, promptsOption } from "./prompts.ts";

const baseUrlOf = ({ baseUrl = "" }: Upstream): string => baseUrl.replace(/\/v1$/, "");

// huggingface/text-embeddings-inference, router/src/main.rs: --max-client-batch-size is 32, and a body may have
// 2,000,000 bytes, of which the quotes and escapes of JSON need some.
const capabilities = ({ upstream }: Target): EmbeddingCapabilities => ({
  maxItems: typeof upstream.options.maxItems === "number" ? upstream.options.maxItems : 32,
  maxBytes: 1_500_000,
  base64: false,
  tokens: true,
  dimensions: "any",
  taskTypes: promptsOf(upstream),
  normalized: true,
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { input } = query;
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(`${baseUrlOf(target.upstream)}/embed`, target.upstream, {
      ...extraFields,
      inputs: input.kind === "tokens" ? input.tokens : textsOf(query),
      prompt_name: taskTypeOf(query, capabilities(target)),
      truncate: mayTruncate,
      dimensions: query.dimensions,
    });
  },
  fromUpstream: async (response) => ({
    vectors: vectorRows(await response.jsonWithVectors()),
    ...usageOf(Number(response.headers.get("x-compute-tokens") || Number.NaN)),
  }),
};

export const tei: Vendor = {
  kind: {
    name: "tei",
    needs: ["baseUrl"],
    serves: "embedding",
    options: {
      maxItems: z.int().min(1).optional().describe("The most inputs in one request."),
      prompts: promptsOption,
    },
  },
  adapter: {
    embeddings,
    models: {
      request: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/info`, upstream),
      read: (body) => [memberOf(body, "model_id")],
    },
    readError: nativeErrorReader({
      classify: ({ message }) =>
        /\bmaximum allowed batch size\b/.test(message) && "too many inputs",
    }),
  },
};
