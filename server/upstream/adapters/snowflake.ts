/** Snowflake Cortex: an account's own URL, and a token with its type in a second header. */
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Upstream, Vector } from "../contract.ts";
import { invalidResponse } from "../invalid-response.ts";
import { orderByIndex } from "./openai/embeddings.ts";
import { headersOf, jsonRequest, type WireHeaders } from "./wire/build-request.ts";
import { listIn, memberOf } from "./wire/members.ts";
import { isNumberList, textsOf, usageOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

/** https://docs.snowflake.com/en/developer-guide/snowflake-rest-api/authentication */
const tokenTypes = ["PROGRAMMATIC_ACCESS_TOKEN", "KEYPAIR_JWT", "OAUTH"] as const;

const baseUrlOf = ({ baseUrl = "" }: Upstream): string =>
  baseUrl.replace(/\/api\/v2(\/cortex)?$/, "");

/** A programmatic access token by default: the others are valid for an hour, too short for a configuration. */
const authHeaders = (upstream: Upstream): WireHeaders => ({
  accept: "application/json",
  ...headersOf(upstream, (key) => ({
    authorization: `Bearer ${key}`,
    "x-snowflake-authorization-token-type": String(upstream.options.tokenType ?? tokenTypes[0]),
  })),
});

// The maximum number of texts per request is not documented, so the limit is low.
const capabilities: EmbeddingCapabilities = {
  maxItems: 100,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
};

const embeddings: EmbeddingsAdapter = {
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) =>
    jsonRequest(`${baseUrlOf(upstream)}/api/v2/cortex/inference:embed`, authHeaders(upstream), {
      ...query.extraFields,
      model,
      text: textsOf(query),
    }),
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const entries = listIn(body, "data").map((entry) => ({
      index: memberOf(entry, "index"),
      embedding: onlyOne(memberOf(entry, "embedding")),
    }));
    return {
      vectors: orderByIndex(entries, query),
      ...usageOf(memberOf(memberOf(body, "usage"), "total_tokens")),
    };
  },
};

/** Each vector comes in a list of its own: `[[0.1, 0.2]]`. */
function onlyOne(list: unknown): Vector {
  const inner: unknown = Array.isArray(list) && list.length === 1 ? list[0] : undefined;
  if (isNumberList(inner)) return inner;
  if (isNumberList(list) && !isNumberList(list[0])) return list;
  throw invalidResponse("an entry has no vector, or several");
}

export const snowflake: Vendor = {
  kind: {
    name: "snowflake",
    needs: ["baseUrl", "apiKey"],
    serves: "embedding",
    options: {
      tokenType: z
        .enum(tokenTypes)
        .optional()
        .describe("The type of the token in apiKey. The default is PROGRAMMATIC_ACCESS_TOKEN."),
    },
  },
  adapter: {
    embeddings,
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/api/v2/databases?showLimit=1`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      classify: ({ status, message }) =>
        status === 400 &&
        /\b(unknown|unsupported) model\b|\bmodel\b.*\bunavailable\b/i.test(message)
          ? "no such model"
          : undefined,
    }),
  },
};
