/** TwelveLabs: Marengo embeds one text per request, into the space of its images and videos. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, EmbeddingsQuery, ExtraFields, Target } from "../contract.ts";
import { headersOf, jsonRequest, type WireHeaders } from "./wire/build-request.ts";
import { isCount, listIn, memberOf, objectOf } from "./wire/members.ts";
import { textsOf, usageOf, vectorIn } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { checkTruncated } from "./wire/truncated.ts";
import { truncation } from "./wire/truncation.ts";

// twelvelabs 1.3.6, environment.py.
const baseUrl = "https://api.twelvelabs.io/v1.3";

const authHeaders = (upstream: Target["upstream"]): WireHeaders =>
  headersOf(upstream, (key) => ({ "x-api-key": key }));

/** Marengo 3.0 has an input type for texts, one vector length, and no option for truncation. */
const isMarengo3 = ({ model }: Target): boolean => model === "marengo3.0";

// twelvelabs 1.3.6, embed/v_2/raw_client.py. Which lengths Marengo 3.5 supports is not documented.
const capabilities = (target: Target): EmbeddingCapabilities => ({
  maxItems: 1,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
  ...(!isMarengo3(target) && { dimensions: "any" }),
});

function body(query: EmbeddingsQuery, target: Target): ExtraFields {
  const text = { input_text: textsOf(query)[0] };
  const { model } = target;
  if (isMarengo3(target))
    return { ...query.extraFields, input_type: "text", model_name: model, text };
  const { mayTruncate, extraFields } = truncation(query);
  return {
    auto_truncate: mayTruncate,
    ...extraFields,
    input_type: "multi_input",
    model_name: model,
    multi_input: text,
    embedding_dimension: query.dimensions,
  };
}

/** The tokens by type of content: `{text: 7}`. Marengo 3.0 does not report them. */
function tokensIn(usage: unknown): number | undefined {
  const counts = Object.values(objectOf(memberOf(usage, "input_tokens")));
  if (counts.length === 0 || !counts.every(isCount)) return undefined;
  return counts.reduce((sum, count) => sum + count, 0);
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) =>
    jsonRequest(
      `${target.upstream.baseUrl ?? baseUrl}/embed-v2`,
      authHeaders(target.upstream),
      body(query, target),
    ),
  fromUpstream: async (response, query) => {
    const read = await response.json();
    const usage = memberOf(read, "usage");
    return {
      vectors: listIn(read, "data").map((entry) => vectorIn(entry, "embedding")),
      ...usageOf(tokensIn(usage)),
      ...checkTruncated(query, [memberOf(usage, "truncated")]),
    };
  },
};

export const twelvelabs: Vendor = {
  kind: { name: "twelvelabs", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    // It lists no models. The list of indexes is free.
    probe: (upstream) => ({
      url: `${upstream.baseUrl ?? baseUrl}/indexes?page_limit=1`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      // docs.twelvelabs.io/api-reference/error-codes: `parameter_invalid` names the parameter.
      classify: ({ status, message }) =>
        status === 400 && /\bmodel_name\b/.test(message) && "no such model",
    }),
  },
};
