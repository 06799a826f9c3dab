/** Databricks: OpenAI's response format, with the model's endpoint in the URL. */
import { z } from "zod";
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Upstream } from "../contract.ts";
import { clientCredentialsRequest, oauthToken } from "../credentials/oauth-token.ts";
import { readEmbeddingsResponse } from "./openai/embeddings.ts";
import { bearer, jsonRequest, ownHeaders, type WireHeaders } from "./wire/build-request.ts";
import { codeIn, membersOfList } from "./wire/members.ts";
import { textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

const baseUrlOf = ({ baseUrl = "" }: Upstream): string =>
  baseUrl.replace(/\/serving-endpoints$/, "");

const clientOf = ({ options }: Upstream): string | undefined =>
  typeof options.clientId === "string" ? options.clientId : undefined;

/** A personal token is sent unchanged; a service principal's secret is sent only to the token service. */
const authHeaders = (upstream: Upstream): WireHeaders =>
  clientOf(upstream) === undefined ? bearer(upstream) : ownHeaders(upstream);

// The API's error: "Input embeddings size is too large, exceeding 150 limit". docs.databricks.com, Foundation model
// REST API: an embedding request has `input` and an `instruction`, which is passed through.
const capabilities: EmbeddingCapabilities = {
  maxItems: 150,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
};

const embeddings: EmbeddingsAdapter = {
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) =>
    jsonRequest(
      `${baseUrlOf(upstream)}/serving-endpoints/${encodeURIComponent(model)}/invocations`,
      authHeaders(upstream),
      { ...query.extraFields, input: textsOf(query) },
    ),
  fromUpstream: readEmbeddingsResponse,
};

/** https://docs.databricks.com/aws/en/dev-tools/auth/oauth-m2m */
const tokenRequest = (upstream: Upstream, clientId: string): UpstreamRequest =>
  clientCredentialsRequest(
    `${baseUrlOf(upstream)}/oidc/v1/token`,
    { clientId, secret: upstream.apiKey ?? "" },
    { scope: "all-apis" },
  );

export const databricks: Vendor = {
  kind: {
    name: "databricks",
    needs: ["baseUrl", "apiKey"],
    serves: "embedding",
    options: {
      clientId: z
        .string()
        .max(1000)
        .regex(/^[\x21-\x39\x3b-\x7e]+$/, "must not contain spaces or colons")
        .optional()
        .describe(
          "The client id of a service principal, whose secret is apiKey. If absent, apiKey is a token.",
        ),
    },
  },
  adapter: {
    embeddings,
    credential: (upstream) => {
      const clientId = clientOf(upstream);
      return clientId === undefined
        ? undefined
        : oauthToken(() => tokenRequest(upstream, clientId));
    },
    models: {
      request: (upstream) => ({
        url: `${baseUrlOf(upstream)}/api/2.0/serving-endpoints`,
        headers: authHeaders(upstream),
      }),
      read: membersOfList("endpoints", "name"),
    },
    readError: nativeErrorReader({
      names: (upstream) => [clientOf(upstream)],
      classify: ({ status, message, body }) => {
        const code = codeIn(body, "error_code");
        if (/^(RESOURCE_DOES_NOT_EXIST|ENDPOINT_NOT_FOUND)$/.test(code)) return "no such model";
        if (/^Input embeddings size is too large\b/.test(message)) return "too many inputs";
        return status === 403 && /\b(invalid|expired) access token\b/i.test(message) && "wrong key";
      },
    }),
  },
};
