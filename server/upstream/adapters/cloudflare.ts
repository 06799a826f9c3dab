/** Cloudflare Workers AI over its REST API: account and model stand in the address, the answer in an envelope. */
import { z } from "zod";
import type { EmbeddingsQuestion } from "../adapter.ts";
import type { EmbeddingTraits, Target, Upstream } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { askWithBearer, bearer } from "./bearer.ts";
import { modelPath } from "./model-path.ts";
import { memberOf, textsOf, unusable, wordOf } from "./native-embeddings.ts";
import { type Meant, nativeFault } from "./native-fault.ts";
import { truncation } from "./truncation.ts";
import { vectorRows } from "./vector-rows.ts";

const baseUrl = "https://api.cloudflare.com/client/v4";

const aiOf = ({ baseUrl: place = baseUrl, options }: Upstream): string =>
  `${place}/accounts/${encodeURIComponent(String(options.accountId))}/ai`;

/** @cloudflare/workers-types: what a model wants to hear is the name of the field for the texts. */
function purposes(model: string): EmbeddingTraits["purposes"] {
  if (model.includes("qwen3-embedding")) {
    return { field: "input", words: { query: "queries", document: "documents" } };
  }
  return model.includes("bge-m3") ? "indifferent" : { field: "input", words: {} };
}

// cloudflare-docs, workers-ai-models/bge-base-en-v1.5.json: 100 texts a call. No model makes shorter vectors.
const traits = ({ model }: Target): EmbeddingTraits => ({
  maxItems: 100,
  base64: false,
  tokens: false,
  purposes: purposes(model),
});

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { cut, rest } = truncation(query);
    return askWithBearer(`${aiOf(upstream)}/run/${modelPath(model)}`, upstream, {
      ...rest,
      [wordOf(query, traits(target)) ?? "text"]: textsOf(query),
      // The only model that has a word for it.
      ...(model.includes("bge-m3") && { truncate_inputs: cut }),
    });
  },
  fromUpstream: async (reply) => {
    const answer = await reply.json();
    if (memberOf(answer, "success") === false) throw unusable("it says itself that it failed");
    return { vectors: vectorRows(memberOf(memberOf(answer, "result"), "data")) };
  },
};

/** developers.cloudflare.com/workers-ai/platform/errors, and the codes of the API around it. */
const meanings: Readonly<Record<string, Meant>> = {
  3036: "no credit",
  3040: "busy",
  3042: "no such model",
  5007: "no such model",
  6003: "wrong key",
  7000: "wrong address",
  7003: "wrong address",
  10000: "wrong key",
};

export const cloudflare: Vendor = {
  kind: {
    name: "cloudflare",
    baseUrl,
    needs: ["apiKey", "accountId"],
    serves: "embedding",
    options: { accountId: z.string().min(1).optional() },
  },
  adapter: {
    name: "cloudflare",
    embeddings,
    probe: (upstream) => ({
      url: `${aiOf(upstream)}/models/search?per_page=1`,
      headers: bearer(upstream),
    }),
    fault: nativeFault({
      recognise: ({ body }) => {
        const errors = memberOf(body, "errors");
        return meanings[String(memberOf(Array.isArray(errors) ? errors[0] : undefined, "code"))];
      },
      names: ({ options }) => [options.accountId as string | undefined],
    }),
  },
};
