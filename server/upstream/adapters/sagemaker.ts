/** Amazon SageMaker: an endpoint of one's own that runs Hugging Face's embedding container. */
import { z } from "zod";
import type { EmbeddingsQuestion, WireRequest } from "../adapter.ts";
import type { EmbeddingTraits, Target, Upstream } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { memberOf, textsOf } from "./native-embeddings.ts";
import { nativeFault } from "./native-fault.ts";
import { headersOf } from "./place.ts";
import { signatureHeaders } from "./sigv4.ts";
import { vectorRows } from "./vector-rows.ts";

interface SagemakerOptions {
  readonly region?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  readonly maxItems?: number;
}

const optionsOf = (upstream: Upstream): SagemakerOptions => upstream.options;

function rootOf(upstream: Upstream): string {
  const { region = "" } = optionsOf(upstream);
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return upstream.baseUrl ?? `https://runtime.sagemaker.${region}.${domain}`;
}

/** 32: what the container takes at once, unless MAX_CLIENT_BATCH_SIZE says otherwise. */
const traits = ({ upstream }: Target): EmbeddingTraits => ({
  maxItems: optionsOf(upstream).maxItems ?? 32,
  base64: false,
  tokens: false,
  purposes: "indifferent",
});

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream: (query, { upstream, model }) => ({
    url: `${rootOf(upstream)}/endpoints/${encodeURIComponent(model)}/invocations`,
    headers: {
      ...headersOf(upstream, () => ({})),
      accept: "application/json",
      "content-type": "application/json",
    },
    // The container refuses a text that is too long, unless `truncate` rides along.
    body: JSON.stringify({ ...query.rest, inputs: textsOf(query) }),
  }),
  fromUpstream: async (reply) => {
    const answer = await reply.json();
    // Older containers put the list into an object.
    return { vectors: vectorRows(memberOf(answer, "embedding") ?? answer) };
  },
};

function sign(request: WireRequest, upstream: Upstream, now: number): WireRequest {
  const { region, accessKeyId, secretAccessKey, sessionToken } = optionsOf(upstream);
  const { url, headers, body = "" } = request;
  if (region === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return request;
  if (typeof body === "object") return request;
  const method = body === "" ? "GET" : "POST";
  const signed = body === "" ? {} : { "content-type": headers["content-type"] ?? "" };
  const proof = signatureHeaders(
    { method, url, headers: signed, body },
    { accessKeyId, secretAccessKey, sessionToken, region, service: "sagemaker" },
    now,
  );
  return { ...request, headers: { ...headers, ...proof } };
}

/** They become parts of headers. */
const word = z.string().regex(/^[\x21-\x7e]+$/, "holds a character that no header can carry");

export const sagemaker: Vendor = {
  kind: {
    name: "sagemaker",
    needs: ["region", "accessKeyId", "secretAccessKey"],
    serves: "embedding",
    options: {
      region: z
        .string()
        .regex(/^[a-z0-9-]+$/, "must be a region's name, such as us-east-1")
        .optional(),
      accessKeyId: word.optional(),
      secretAccessKey: word.optional(),
      sessionToken: word.optional(),
      maxItems: z.int().min(1).max(2048).optional(),
    },
  },
  adapter: {
    name: "sagemaker",
    embeddings,
    sign,
    probe: (upstream) => ({ url: `${rootOf(upstream)}/ping`, headers: {} }),
    fault: nativeFault({
      names: (upstream) => [optionsOf(upstream).accessKeyId, new URL(rootOf(upstream)).host],
      recognise: ({ status, words }) => {
        if (/^Endpoint \S+ of account \d+ not found/.test(words)) return "no such model";
        if (/\b(security token|signature|access key)\b/i.test(words) && status === 403)
          return "wrong key";
        return /\bbatch size \d+ > maximum allowed batch size\b/.test(words) && "too many inputs";
      },
    }),
  },
};
