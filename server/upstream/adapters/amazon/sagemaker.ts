/** Amazon SageMaker: a customer's endpoint that runs Hugging Face's embedding container. */
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities, Target, Upstream } from "../../contract.ts";
import { awsCredential } from "../../credentials/aws.ts";
import { jsonRequest, ownHeaders } from "../wire/build-request.ts";
import { memberOf } from "../wire/members.ts";
import { textsOf, vectorRows } from "../wire/native-embeddings.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { type AwsOptions, awsOptions, awsRoot, signedFor } from "./aws.ts";

interface SagemakerOptions extends AwsOptions {
  readonly maxItems?: number;
}

const optionsOf = (upstream: Upstream): SagemakerOptions => upstream.options;

const baseUrlOf = (upstream: Upstream): string => awsRoot(upstream, "runtime.sagemaker");

/** 32: the container's default of MAX_CLIENT_BATCH_SIZE. */
const capabilities = ({ upstream }: Target): EmbeddingCapabilities => ({
  maxItems: optionsOf(upstream).maxItems ?? 32,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, { upstream, model }) =>
    jsonRequest(
      `${baseUrlOf(upstream)}/endpoints/${encodeURIComponent(model)}/invocations`,
      { ...ownHeaders(upstream), accept: "application/json" },
      // The container refuses a text that is too long, unless `truncate` is passed through.
      { ...query.extraFields, inputs: textsOf(query) },
    ),
  fromUpstream: async (response) => {
    const body = await response.jsonWithVectors();
    // Older containers return the list inside an object.
    return { vectors: vectorRows(memberOf(body, "embedding") ?? body) };
  },
};

export const sagemaker: Vendor = {
  kind: {
    name: "sagemaker",
    needs: ["region"],
    needsOneOf: [["accessKeyId", "secretAccessKey"], ["auth"]],
    serves: "embedding",
    options: {
      ...awsOptions,
      maxItems: z.int().min(1).max(2048).optional().describe("The most inputs in one request."),
    },
  },
  adapter: {
    embeddings,
    credential: awsCredential,
    sign: signedFor("sagemaker"),
    probe: (upstream) => ({ url: `${baseUrlOf(upstream)}/ping`, headers: {} }),
    readError: nativeErrorReader({
      names: (upstream) => [optionsOf(upstream).accessKeyId, new URL(baseUrlOf(upstream)).host],
      classify: ({ status, message }) => {
        if (/^Endpoint \S+ of account \d+ not found/.test(message)) return "no such model";
        if (/\b(security token|signature|access key)\b/i.test(message) && status === 403)
          return "wrong key";
        return /\bbatch size \d+ > maximum allowed batch size\b/.test(message) && "too many inputs";
      },
    }),
  },
};
