/** Google's Gemini API in its own language: its OpenAI-compatible surface knows no purposes and tells no usage. */
import type { EmbeddingsQuestion } from "../adapter.ts";
import type { EmbeddingsQuery, EmbeddingTraits, Target, Upstream } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { readGoogleFault } from "./google-fault.ts";
import { taskPrefixes, taskTypes, wantsPrefixes } from "./google-purposes.ts";
import { listIn, memberOf, textsOf, usageOf, vectorIn, wordOf } from "./native-embeddings.ts";
import { headersOf } from "./place.ts";

const baseUrl = "https://generativelanguage.googleapis.com/v1beta";

/** Some have the address of the OpenAI-compatible surface in their configuration. */
const rootOf = (upstream: Upstream): string =>
  (upstream.baseUrl ?? baseUrl).replace(/\/openai$/, "");

const proofOf = (upstream: Upstream) => headersOf(upstream, (key) => ({ "x-goog-api-key": key }));

/** `models/gemini-embedding-001` is what the API itself calls it. */
const nameOf = ({ model }: Target): string => model.replace(/^models\//, "");

/** "at most 100 requests can be in one batch", says the API; @ai-sdk/google has the same number. */
const limits = { maxItems: 100, base64: false, tokens: false, dimensions: "any" } as const;

function traits({ model }: Target): EmbeddingTraits {
  // ai.google.dev/gemini-api/docs/embeddings: gemini-embedding-2 brings shorter vectors to length 1 by itself,
  if (wantsPrefixes(model)) return { ...limits, purposes: taskPrefixes, normalised: true };
  // gemini-embedding-001 does so only for the full 3072.
  return { ...limits, purposes: taskTypes, normalised: false };
}

function toUpstream(query: EmbeddingsQuery, target: Target) {
  const word = wordOf(query, traits(target));
  const prefixes = wantsPrefixes(target.model);
  const name = nameOf(target);
  const requests = textsOf(query).map((text) => ({
    ...query.rest,
    model: `models/${name}`,
    content: { parts: [{ text: prefixes && word !== undefined ? word + text : text }] },
    ...(!prefixes && word !== undefined && { taskType: word }),
    ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
  }));
  const method = requests.length === 1 ? "embedContent" : "batchEmbedContents";
  return {
    url: `${rootOf(target.upstream)}/models/${encodeURIComponent(name)}:${method}`,
    headers: { ...proofOf(target.upstream), "content-type": "application/json" },
    body: JSON.stringify(requests.length === 1 ? requests[0] : { requests }),
  };
}

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream,
  fromUpstream: async (reply, query) => {
    const answer = await reply.json();
    const single = textsOf(query).length === 1;
    const entries = single ? [memberOf(answer, "embedding")] : listIn(answer, "embeddings");
    return {
      vectors: entries.map((entry) => vectorIn(entry, "values")),
      ...usageOf(memberOf(memberOf(answer, "usageMetadata"), "promptTokenCount")),
    };
  },
};

export const gemini: Vendor = {
  kind: { name: "gemini", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    name: "gemini",
    embeddings,
    probe: (upstream) => ({
      url: `${rootOf(upstream)}/models?pageSize=1`,
      headers: proofOf(upstream),
    }),
    fault: (reply, context) => readGoogleFault(reply, context, [new URL(baseUrl).host]),
  },
};
