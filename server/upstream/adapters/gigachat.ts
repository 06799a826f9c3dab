/**
 * GigaChat of Sber: an authorization key that is exchanged for a token, and OpenAI's embeddings without a total usage.
 */
import { z } from "zod";
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, EmbeddingsResponse, Upstream } from "../contract.ts";
import { formRequest, oauthToken } from "../credentials/oauth-token.ts";
import { embeddingsIn } from "./openai/embeddings.ts";
import { jsonRequest, ownHeaders } from "./wire/build-request.ts";
import { isCount, listOf, memberOf, membersOfList } from "./wire/members.ts";
import { textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

// gigachat 0.2.3, settings.py: the addresses and the default scope.
const baseUrl = "https://api.giga.chat/v1";
const tokenUrl = "https://ngw.devices.sberbank.ru:9443/api/v2/oauth";

interface GigachatOptions {
  readonly scope?: string;
  readonly authUrl?: string;
}

const optionsOf = (upstream: Upstream): GigachatOptions => upstream.options;

// gigachat 0.2.3, api/embeddings.py: `input` and `model`, nothing else. No limit is documented; langchain-community's
// client sends up to 90 texts.
const capabilities: EmbeddingCapabilities = {
  maxItems: 90,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
};

const embeddings: EmbeddingsAdapter = {
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) =>
    jsonRequest(`${upstream.baseUrl ?? baseUrl}/embeddings`, ownHeaders(upstream), {
      ...query.extraFields,
      model,
      input: textsOf(query),
    }),
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    return { vectors: embeddingsIn(body, query).vectors, ...usageIn(body) };
  },
};

/** Each entry has the tokens of its own input. */
function usageIn(body: unknown): Pick<EmbeddingsResponse, "usage"> {
  const counts = listOf(memberOf(body, "data")).map((entry) =>
    memberOf(memberOf(entry, "usage"), "prompt_tokens"),
  );
  if (!counts.every(isCount)) return {};
  return { usage: { inputTokens: counts.reduce((sum, count) => sum + count, 0) } };
}

/** gigachat 0.2.3, api/auth.py. The key is the base64 text that Sber calls authorization data. */
const tokenRequest = (upstream: Upstream): UpstreamRequest => {
  const { scope = "GIGACHAT_API_PERS", authUrl = tokenUrl } = optionsOf(upstream);
  return formRequest(
    authUrl,
    { scope },
    { authorization: `Basic ${upstream.apiKey ?? ""}`, rquid: crypto.randomUUID() },
  );
};

export const gigachat: Vendor = {
  kind: {
    name: "gigachat",
    baseUrl,
    needs: ["apiKey"],
    serves: "embedding",
    options: {
      scope: z
        .string()
        .regex(/^[A-Z_]{1,100}$/, "must be a scope, such as GIGACHAT_API_CORP")
        .optional()
        .describe("The scope of the account. The default is GIGACHAT_API_PERS."),
      authUrl: z
        .url({ protocol: /^https?$/ })
        .max(2000)
        .optional()
        .describe("The address of the token service. The default is that of Sber."),
    },
  },
  adapter: {
    embeddings,
    credential: (upstream) => oauthToken(() => tokenRequest(upstream)),
    models: {
      request: (upstream) => ({
        url: `${upstream.baseUrl ?? baseUrl}/models`,
        headers: ownHeaders(upstream),
      }),
      read: membersOfList("data", "id"),
    },
    readError: nativeErrorReader({
      names: (upstream) => [optionsOf(upstream).authUrl],
      classify: ({ status, message }) =>
        status === 404 && /\bno such model\b/i.test(message) && "no such model",
    }),
  },
};
