/** Alibaba's Model Studio in its own language: the OpenAI-compatible surface knows no purposes. */
import type { EmbeddingsQuestion } from "../adapter.ts";
import type { EmbeddingTraits, Target, Upstream } from "../contract.ts";
import type { PurposeTable } from "../purpose.ts";
import type { Vendor } from "../vendor.ts";
import { askWithBearer, bearer } from "./bearer.ts";
import { listIn, memberOf, textsOf, usageOf, vectorIn, wordOf } from "./native-embeddings.ts";
import { nativeFault } from "./native-fault.ts";
import { inOrder } from "./openai-embeddings.ts";

/** Singapore. Beijing is https://dashscope.aliyuncs.com/api/v1, with keys of its own. */
const baseUrl = "https://dashscope-intl.aliyuncs.com/api/v1";

/** Some have the address of the OpenAI-compatible surface in their configuration. */
const rootOf = (upstream: Upstream): string =>
  (upstream.baseUrl ?? baseUrl).replace(/\/compatible-mode\/v1$/, "/api/v1");

const purposes: PurposeTable = {
  field: "text_type",
  words: { query: "query", document: "document" },
};

const limits = { base64: false, tokens: false, purposes } as const;

// alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api: inputs and lengths, model by model.
function traits({ model }: Target): EmbeddingTraits {
  if (/-v[12]$/.test(model)) return { ...limits, maxItems: 25 };
  if (/-v3$/.test(model)) return { ...limits, maxItems: 10, dimensions: [512, 768, 1024] };
  if (/-v4$/.test(model))
    return { ...limits, maxItems: 10, dimensions: [64, 128, 256, 512, 768, 1024, 1536, 2048] };
  if (/^qwen3\.7-/.test(model))
    return { ...limits, maxItems: 20, dimensions: [256, 512, 768, 1024, 1536, 2048, 2560] };
  return { ...limits, maxItems: 10 };
}

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const parameters = {
      ...query.rest,
      dimension: query.dimensions,
      text_type: wordOf(query, traits(target)),
    };
    const url = `${rootOf(upstream)}/services/embeddings/text-embedding/text-embedding`;
    return askWithBearer(url, upstream, { model, input: { texts: textsOf(query) }, parameters });
  },
  fromUpstream: async (reply, query) => {
    const answer = await reply.json();
    const entries = listIn(memberOf(answer, "output"), "embeddings").map((entry) => ({
      index: memberOf(entry, "text_index"),
      embedding: vectorIn(entry, "embedding"),
    }));
    return {
      vectors: inOrder(entries, query),
      ...usageOf(memberOf(memberOf(answer, "usage"), "total_tokens")),
    };
  },
};

export const dashscope: Vendor = {
  kind: { name: "dashscope", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    name: "dashscope",
    embeddings,
    probe: (upstream) => ({
      url: `${rootOf(upstream).replace(/\/api\/v1$/, "/compatible-mode/v1")}/models`,
      headers: bearer(upstream),
    }),
    // alibabacloud.com/help/en/model-studio/error-code.
    fault: nativeFault({
      recognise: ({ status, words, body }) => {
        const code = String(memberOf(body, "code"));
        if (/^Model\.?NotFound$/i.test(code)) return "no such model";
        if (code === "Arrearage" || code.startsWith("AllocationQuota.")) return "no credit";
        if (code === "Throttling.AllocationQuota" && /\bfree\b/i.test(words)) return "no credit";
        return status === 400 && /\bbatch size is invalid\b/.test(words) && "too many inputs";
      },
    }),
  },
};
