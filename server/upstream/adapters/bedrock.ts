/** Amazon Bedrock: models of several houses behind one address, each with a body of its own. */
import { z } from "zod";
import { GatewayError } from "../../std/gateway-error.ts";
import type { EmbeddingsQuestion, WireReply, WireRequest } from "../adapter.ts";
import type { Target, Upstream } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { bearer } from "./bearer.ts";
import { type Family, familyNames, familyOf, nameOf } from "./bedrock-families.ts";
import { readBedrockFault } from "./bedrock-fault.ts";
import { memberOf, usageOf } from "./native-embeddings.ts";
import { signatureHeaders } from "./sigv4.ts";

interface BedrockOptions {
  readonly region?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

const optionsOf = (upstream: Upstream): BedrockOptions => upstream.options;

function rootOf(upstream: Upstream, host = "bedrock-runtime"): string {
  const { region = "" } = optionsOf(upstream);
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return upstream.baseUrl ?? `https://${host}.${region}.${domain}`;
}

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

function sign(request: WireRequest, upstream: Upstream, now: number): WireRequest {
  const { region, accessKeyId, secretAccessKey, sessionToken } = optionsOf(upstream);
  const { url, headers, body } = request;
  if (region === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return request;
  if (upstream.apiKey !== undefined || typeof body === "object") return request;
  const signed = { "content-type": headers["content-type"] ?? "" };
  const proof = signatureHeaders(
    {
      method: body === undefined ? "GET" : "POST",
      url,
      headers: body === undefined ? {} : signed,
      body: body ?? "",
    },
    { accessKeyId, secretAccessKey, sessionToken, region, service: "bedrock" },
    now,
  );
  return { ...request, headers: { ...headers, ...proof } };
}

/** They become parts of headers and addresses. */
const word = z.string().regex(/^[\x21-\x7e]+$/, "holds a character that no header can carry");

export const bedrock: Vendor = {
  kind: {
    name: "bedrock",
    needs: ["region"],
    needsOneOf: [["apiKey"], ["accessKeyId", "secretAccessKey"]],
    serves: "embedding",
    options: {
      region: z
        .string()
        .regex(/^[a-z0-9-]+$/, "must be a region's name, such as us-east-1")
        .optional(),
      accessKeyId: word.optional(),
      secretAccessKey: word.optional(),
      sessionToken: word.optional(),
      family: z.enum(familyNames).optional(),
    },
  },
  adapter: {
    name: "bedrock",
    embeddings,
    sign,
    probe: (upstream) => ({
      url: `${rootOf(upstream, "bedrock")}/foundation-models`,
      headers: bearer(upstream),
    }),
    fault: (reply, context) => {
      const { upstream } = context.target;
      const { accessKeyId } = optionsOf(upstream);
      return readBedrockFault(reply, context, [accessKeyId, new URL(rootOf(upstream)).host]);
    },
  },
};
