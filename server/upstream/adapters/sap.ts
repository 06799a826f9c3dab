/** SAP's generative AI hub: the embeddings of an orchestration deployment, which wraps OpenAI's response. */
import { z } from "zod";
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Target, Upstream } from "../contract.ts";
import { clientCredentialsRequest, oauthToken } from "../credentials/oauth-token.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { embeddingsIn } from "./openai/embeddings.ts";
import { jsonRequest, ownHeaders, type WireHeaders } from "./wire/build-request.ts";
import { memberOf } from "./wire/members.ts";
import { taskTypeOf, textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

interface SapOptions {
  readonly authUrl?: string;
  readonly clientId?: string;
  readonly resourceGroup?: string;
}

const optionsOf = (upstream: Upstream): SapOptions => upstream.options;

/** The API key is the service key's `clientsecret`; it is sent only to the token service. */
const groupHeaders = (upstream: Upstream): WireHeaders => ({
  "ai-resource-group": optionsOf(upstream).resourceGroup ?? "default",
  ...ownHeaders(upstream),
});

// @sap-ai-sdk/orchestration, EmbeddingsInput.type; `text` and `image` are the type of an input, not its task.
const taskTypes: TaskTypeTable = {
  field: "type",
  values: {
    query: "query",
    document: "document",
    classification: "classification",
    clustering: "clustering",
  },
};

// help.sap.com/docs/sap-ai-core, orchestration: the supported dimensions depend on the model.
const capabilities = ({ model }: Target): EmbeddingCapabilities => ({
  maxItems: 2048,
  base64: false,
  tokens: false,
  taskTypes,
  ...(/text-embedding-3/.test(model) && { dimensions: "any", normalized: true }),
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const params = { ...query.extraFields, dimensions: query.dimensions };
    return jsonRequest(`${upstream.baseUrl}/v2/embeddings`, groupHeaders(upstream), {
      config: { modules: { embeddings: { model: { name: model, params } } } },
      input: { text: textsOf(query), type: taskTypeOf(query, capabilities(target)) },
    });
  },
  fromUpstream: async (response, query) =>
    embeddingsIn(memberOf(await response.jsonWithVectors(), "final_result"), query),
};

function tokenRequest(upstream: Upstream): UpstreamRequest {
  const { authUrl = "", clientId = "" } = optionsOf(upstream);
  const root = authUrl.replace(/\/+$/, "").replace(/\/oauth\/token$/, "");
  const secret = upstream.apiKey ?? "";
  return clientCredentialsRequest(`${root}/oauth/token`, { clientId, secret });
}

export const sap: Vendor = {
  kind: {
    name: "sap",
    needs: ["baseUrl", "apiKey", "authUrl", "clientId"],
    serves: "embedding",
    options: {
      authUrl: z
        .url({ protocol: /^https?$/ })
        .max(2000)
        .optional()
        .describe("The address of the token service, from the service key (url)."),
      clientId: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .describe("The client id, from the service key (clientid)."),
      resourceGroup: z
        .string()
        .max(1000)
        .regex(/^[\x21-\x7e]+$/, "contains a character that is not allowed in an HTTP header")
        .optional()
        .describe("The AI resource group of the deployment."),
    },
  },
  adapter: {
    embeddings,
    credential: (upstream) => oauthToken(() => tokenRequest(upstream)),
    // Succeeds if the deployment is running.
    probe: (upstream) => ({ url: `${upstream.baseUrl}/health`, headers: groupHeaders(upstream) }),
    readError: nativeErrorReader({
      names: (upstream) => {
        const { authUrl, clientId, resourceGroup } = optionsOf(upstream);
        return [authUrl, clientId, resourceGroup];
      },
      classify: ({ status, message }) =>
        status === 400 && /\bmodel\b.*\bnot (supported|found)\b/i.test(message) && "no such model",
    }),
  },
};
