/** Alibaba Model Studio's native API: its OpenAI-compatible API has no task types. */
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities, Target, Upstream } from "../../contract.ts";
import type { TaskTypeTable } from "../../task-type.ts";
import { orderByIndex } from "../openai/embeddings.ts";
import { bearerJsonRequest, bearerRequest } from "../wire/build-request.ts";
import { listIn, memberOf, membersOfList } from "../wire/members.ts";
import { taskTypeOf, textsOf, usageOf, vectorIn } from "../wire/native-embeddings.ts";
import { dashscopeErrorReader } from "./errors.ts";
import { dashscopeFamily } from "./families.ts";
import { dashscopeEdits, dashscopeGenerations, dashscopeRoot, dashscopeUrl } from "./images.ts";
import { isMultimodal, multimodalEmbeddings } from "./multimodal.ts";

const taskTypes: TaskTypeTable = {
  field: "text_type",
  values: { query: "query", document: "document" },
};

const limits = { base64: false, tokens: false, taskTypes } as const;

// alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api: inputs and lengths, model by model.
function capabilities({ model }: Target): EmbeddingCapabilities {
  if (/-v[12]$/.test(model)) return { ...limits, maxItems: 25 };
  // The page lists 512, 768 and 1024 for v3. dashscope 2.0.2, TextEmbedding.call (2026-11-17), lists 256, 128 and 64
  // "for v3/v4" too, so DashScope decides.
  if (/-v3$/.test(model))
    return { ...limits, maxItems: 10, dimensions: [64, 128, 256, 512, 768, 1024] };
  if (/-v4$/.test(model))
    return { ...limits, maxItems: 10, dimensions: [64, 128, 256, 512, 768, 1024, 1536, 2048] };
  if (/^qwen3\.7-.*-flash/.test(model))
    return { ...limits, maxItems: 20, dimensions: [256, 512, 768, 1024] };
  if (/^qwen3\.7-/.test(model))
    return { ...limits, maxItems: 20, dimensions: [256, 512, 768, 1024, 1536, 2048, 2560] };
  return { ...limits, maxItems: 10 };
}

const textEmbeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const parameters = {
      ...query.extraFields,
      dimension: query.dimensions,
      text_type: taskTypeOf(query, capabilities(target)),
    };
    const url = `${dashscopeRoot(upstream)}/services/embeddings/text-embedding/text-embedding`;
    return bearerJsonRequest(url, upstream, {
      model,
      input: { texts: textsOf(query) },
      parameters,
    });
  },
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const entries = listIn(memberOf(body, "output"), "embeddings").map((entry) => ({
      index: memberOf(entry, "text_index"),
      embedding: vectorIn(entry, "embedding"),
    }));
    return {
      vectors: orderByIndex(entries, query),
      ...usageOf(memberOf(memberOf(body, "usage"), "total_tokens")),
    };
  },
};

const adapterOf = ({ model }: Target): EmbeddingsAdapter =>
  isMultimodal(model) ? multimodalEmbeddings : textEmbeddings;

const embeddings: EmbeddingsAdapter = {
  capabilities: (target) => adapterOf(target).capabilities(target),
  toUpstream: (query, target) => adapterOf(target).toUpstream(query, target),
  fromUpstream: (response, query, target) =>
    adapterOf(target).fromUpstream(response, query, target),
};

const compatibleModels = (upstream: Upstream): UpstreamRequest =>
  bearerRequest(
    `${dashscopeRoot(upstream).replace(/\/api\/v1$/, "/compatible-mode/v1")}/models`,
    upstream,
  );

export const dashscope: Vendor = {
  kind: { name: "dashscope", baseUrl: dashscopeUrl, needs: ["apiKey"], options: {} },
  adapter: {
    embeddings,
    generations: dashscopeGenerations,
    edits: dashscopeEdits,
    imageCapabilities: ({ model }) => dashscopeFamily(model).capabilities,
    models: { request: compatibleModels, read: membersOfList("data", "id") },
    readError: dashscopeErrorReader,
  },
};
