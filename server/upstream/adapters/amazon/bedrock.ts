/** Amazon Bedrock: models of several vendors behind one endpoint, each with its own request body. */
import { z } from "zod";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  EmbeddingsAdapter,
  UpstreamRequest,
  UpstreamResponse,
  Vendor,
} from "../../adapter.ts";
import type { Target, Upstream } from "../../contract.ts";
import { awsCredential } from "../../credentials/aws.ts";
import { bearer, bearerRequest, jsonRequestFor } from "../wire/build-request.ts";
import { memberOf, membersOfList } from "../wire/members.ts";
import { usageOf } from "../wire/native-embeddings.ts";
import { type AwsOptions, awsOptions, awsRoot, signedFor, signedStreamFor } from "./aws.ts";
import { bedrockErrorReader } from "./bedrock-errors.ts";
import {
  type EmbeddingFamily,
  embeddingFamilyOf,
  familyNames,
  isFamily,
  nameOf,
} from "./bedrock-families.ts";
import { bedrockImageCapabilities, bedrockImages, imageFamilyNames } from "./bedrock-images.ts";

const baseUrlOf = (upstream: Upstream, host = "bedrock-runtime"): string => awsRoot(upstream, host);

const family = ({ upstream, model }: Target): EmbeddingFamily =>
  embeddingFamilyOf(model, upstream.options.family);

const isFamilyKnown = ({ upstream, model }: Target): boolean =>
  isFamily(upstream.options.family) || nameOf(model) !== undefined;

/** A guess would send one family's request body to another, which fails with a misleading error. */
const unknownFamily = (model: string): GatewayError =>
  new GatewayError(
    "unsupported_operation",
    `The model '${model}' cannot be used: its model family is not known. Ask the operator of this gateway to set \`family\` on its upstream.`,
    { param: "model" },
  );

const invoke = ({ upstream, model }: Target): Pick<UpstreamRequest, "url" | "headers"> => ({
  url: `${baseUrlOf(upstream)}/model/${encodeURIComponent(model)}/invoke`,
  // A Bedrock API key is a bearer token; without one, `sign` authenticates the request.
  headers: { ...bearer(upstream), accept: "application/json" },
});

const embeddings: EmbeddingsAdapter = {
  capabilities: (target) => family(target).capabilities,
  toUpstream: (query, target) => {
    if (!isFamilyKnown(target)) throw unknownFamily(query.model);
    const { url, headers } = invoke(target);
    return jsonRequestFor(query)(url, headers, family(target).body(query));
  },
  fromUpstream: async (response, { outputType }, target) => {
    const { vectors, tokens } = family(target);
    const body = await response.jsonWithVectors();
    return {
      vectors: vectors(body, outputType?.type),
      ...usageOf(tokensIn(body, tokens, response)),
    };
  },
};

/** Input tokens: from the body if the family reports them there, else from a header, which is not always sent. */
function tokensIn(
  response: unknown,
  name: string | undefined,
  { headers }: UpstreamResponse,
): unknown {
  const reported = name === undefined ? undefined : memberOf(response, name);
  if (reported !== undefined) return reported;
  const counted = headers.get("x-amzn-bedrock-input-token-count") ?? "";
  return /^\d+$/.test(counted) ? Number(counted) : undefined;
}

const signed = signedFor("bedrock");
const signedStream = signedStreamFor("bedrock");

export const bedrock: Vendor = {
  kind: {
    name: "bedrock",
    needs: ["region"],
    needsOneOf: [["apiKey"], ["accessKeyId", "secretAccessKey"], ["auth"]],
    options: {
      ...awsOptions,
      family: z
        .enum([...familyNames, ...imageFamilyNames])
        .optional()
        .describe("The family of the models, for model ids that do not show it, such as profiles."),
    },
  },
  adapter: {
    embeddings,
    ...bedrockImages(invoke),
    imageCapabilities: bedrockImageCapabilities,
    credential: awsCredential,
    // A request with a Bedrock API key needs no signature.
    sign: (request, upstream, now) =>
      upstream.apiKey === undefined ? signed(request, upstream, now) : request,
    signStreamed: async (request, upstream, now) =>
      upstream.apiKey === undefined ? signedStream(request, upstream, now) : request,
    models: {
      request: (upstream) =>
        bearerRequest(`${baseUrlOf(upstream, "bedrock")}/foundation-models`, upstream),
      read: membersOfList("modelSummaries", "modelId"),
    },
    readError: bedrockErrorReader((upstream) => {
      const { accessKeyId }: AwsOptions = upstream.options;
      return [accessKeyId, new URL(baseUrlOf(upstream)).host];
    }),
  },
};
