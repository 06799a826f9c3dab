/** IBM watsonx.ai: an IAM key that is exchanged for a token, and models that belong to a project or a space. */
import { z } from "zod";
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Upstream } from "../contract.ts";
import { formRequest, oauthToken } from "../credentials/oauth-token.ts";
import { jsonRequest, ownHeaders } from "./wire/build-request.ts";
import { listIn, listOf, memberOf, membersOfList } from "./wire/members.ts";
import { textsOf, usageOf, vectorIn } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { truncation } from "./wire/truncation.ts";

interface WatsonxOptions {
  readonly projectId?: string;
  readonly spaceId?: string;
  readonly version?: string;
  readonly iamUrl?: string;
}

const optionsOf = (upstream: Upstream): WatsonxOptions => upstream.options;

function endpointOf(upstream: Upstream, path: string): string {
  // The API version date, not the current date: https://cloud.ibm.com/apidocs/watsonx-ai#active-version-dates
  const { version = "2024-05-31" } = optionsOf(upstream);
  const root = (upstream.baseUrl ?? "").replace(/\/ml\/v1$/, "");
  return `${root}/ml/v1/${path}?version=${encodeURIComponent(version)}`;
}

// 1000: langchain4j-watsonx and IBM's own SDKs send no more at once.
const capabilities: EmbeddingCapabilities = {
  maxItems: 1000,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
};

const embeddings: EmbeddingsAdapter = {
  capabilities: () => capabilities,
  toUpstream: (query, { upstream, model }) => {
    const { projectId, spaceId } = optionsOf(upstream);
    // A text that is too long is refused unless the request has `truncate_input_tokens`, which is passed through.
    // `truncate: true` has no length, and a length beyond the model's own is refused as well.
    const { extraFields } = truncation(query);
    return jsonRequest(endpointOf(upstream, "text/embeddings"), ownHeaders(upstream), {
      model_id: model,
      inputs: textsOf(query),
      project_id: projectId,
      space_id: spaceId,
      ...(Object.keys(extraFields).length > 0 && { parameters: extraFields }),
    });
  },
  fromUpstream: async (response) => {
    const body = await response.jsonWithVectors();
    return {
      vectors: listIn(body, "results").map((entry) => vectorIn(entry, "embedding")),
      ...usageOf(memberOf(body, "input_token_count")),
    };
  },
};

/** https://cloud.ibm.com/docs/account?topic=account-iamtoken_from_apikey */
const tokenRequest = (upstream: Upstream): UpstreamRequest =>
  formRequest(
    optionsOf(upstream).iamUrl ?? "https://iam.cloud.ibm.com/identity/token",
    { grant_type: "urn:ibm:params:oauth:grant-type:apikey", apikey: upstream.apiKey ?? "" },
    { accept: "application/json" },
  );

const name = z.string().min(1).max(200);

export const watsonx: Vendor = {
  kind: {
    name: "watsonx",
    needs: ["baseUrl", "apiKey"],
    needsOneOf: [["projectId"], ["spaceId"]],
    serves: "embedding",
    options: {
      projectId: name.optional().describe("The id of the project that is billed."),
      spaceId: name.optional().describe("The id of the deployment space that is billed."),
      version: z
        .string()
        .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a date, such as 2024-05-31")
        .optional()
        .describe("The version of the API, as a date."),
      iamUrl: z
        .url({ protocol: /^https?$/ })
        .max(2000)
        .optional()
        .describe("The address of the token service. The default is that of IBM Cloud."),
    },
  },
  adapter: {
    embeddings,
    // On-premises installations have no IAM: the operator sets another credential in `headers`.
    credential: (upstream) =>
      ownHeaders(upstream).authorization === undefined
        ? oauthToken(() => tokenRequest(upstream))
        : undefined,
    models: {
      request: (upstream) => ({
        url: `${endpointOf(upstream, "foundation_model_specs")}&limit=200`,
        headers: ownHeaders(upstream),
      }),
      read: membersOfList("resources", "model_id"),
    },
    readError: nativeErrorReader({
      names: (upstream) => [optionsOf(upstream).projectId, optionsOf(upstream).spaceId],
      classify: ({ body }) => {
        const [first] = listOf(memberOf(body, "errors"));
        const code = memberOf(first, "code");
        if (code === "model_not_supported") return "no such model";
        return code === "token_quota_reached" && "no credit";
      },
    }),
  },
};
