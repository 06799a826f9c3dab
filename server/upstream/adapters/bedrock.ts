/** Amazon Bedrock: models of several houses behind one address, each with a body of its own. */
import { z } from "zod";
import { GatewayError } from "../../std/gateway-error.ts";
import type { EmbeddingsQuestion, WireReply } from "../adapter.ts";
import type { Target, Upstream } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { type AwsOptions, awsOptions, awsRoot, signedFor } from "./aws.ts";
import { bearer } from "./bearer.ts";
import { type Family, familyNames, familyOf, nameOf } from "./bedrock-families.ts";
import { readBedrockFault } from "./bedrock-fault.ts";
import { memberOf, usageOf } from "./native-embeddings.ts";

const rootOf = (upstream: Upstream, host = "bedrock-runtime"): string => awsRoot(upstream, host);

const family = ({ upstream, model }: Target): Family => familyOf(model, upstream.options.family);

const tellsFamily = ({ upstream, model }: Target): boolean =>
  upstream.options.family !== undefined || nameOf(model) !== undefined;

/** Guessing would send one family's question to another, and be answered with riddles. */
const unknownFamily = (model: string): GatewayError =>
  new GatewayError(
    "unsupported_operation",
    `The model '${model}' cannot be asked: nothing tells whose it is. Ask the operator of this gateway to set \`family\` on its upstream.`,
    { param: "model" },
  );

const embeddings: EmbeddingsQuestion = {
  traits: (target) => family(target).traits,
  toUpstream: (query, target) => {
    if (!tellsFamily(target)) throw unknownFamily(query.model);
    return {
      url: `${rootOf(target.upstream)}/model/${encodeURIComponent(target.model)}/invoke`,
      headers: {
        // A Bedrock API key is a bearer token; without one, `sign` proves who we are.
        ...bearer(target.upstream),
        accept: "application/json",
        "content-type": "application/json",
      },
      body: JSON.stringify(family(target).body(query)),
    };
  },
  fromUpstream: async (reply, _query, target) => {
    const { vectors, tokens } = family(target);
    const answer = await reply.json();
    return { vectors: vectors(answer), ...usageOf(tokensIn(answer, tokens, reply)) };
  },
};

/** In the body where the family has it there, else in a header, which is not always sent. */
function tokensIn(answer: unknown, name: string | undefined, { headers }: WireReply): unknown {
  const told = name === undefined ? undefined : memberOf(answer, name);
  if (told !== undefined) return told;
  const counted = headers.get("x-amzn-bedrock-input-token-count") ?? "";
  return /^\d+$/.test(counted) ? Number(counted) : undefined;
}

const signed = signedFor("bedrock");

export const bedrock: Vendor = {
  kind: {
    name: "bedrock",
    needs: ["region"],
    needsOneOf: [["apiKey"], ["accessKeyId", "secretAccessKey"]],
    serves: "embedding",
    options: {
      ...awsOptions,
      family: z.enum(familyNames).optional(),
    },
  },
  adapter: {
    name: "bedrock",
    embeddings,
    // A Bedrock API key proves enough by itself.
    sign: (request, upstream, now) =>
      upstream.apiKey === undefined ? signed(request, upstream, now) : request,
    probe: (upstream) => ({
      url: `${rootOf(upstream, "bedrock")}/foundation-models`,
      headers: bearer(upstream),
    }),
    fault: (reply, context) => {
      const { upstream } = context.target;
      const { accessKeyId }: AwsOptions = upstream.options;
      return readBedrockFault(reply, context, [accessKeyId, new URL(rootOf(upstream)).host]);
    },
  },
};
