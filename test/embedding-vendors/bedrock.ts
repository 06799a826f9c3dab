/** Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { Target } from "../../server/upstream/contract.ts";
import type { Understood, VendorCase, VendorResponse } from "./vendor-case.ts";
import {
  expectHeader,
  expectOnly,
  expectUrl,
  outputTypeIn,
  readBody,
  writeFloats,
} from "./written.ts";

const region = "us-east-1";
const host = `bedrock-runtime.${region}.amazonaws.com`;
const key = "bedrock-api-key-0123456789abcdef";
const account = "471147114711";
const accessKeyId = "AKIAVEXEL00000000000";

const targetOf = (model: string, signed = false): Target => ({
  model,
  upstream: {
    id: "bedrock",
    kind: "bedrock",
    ...(!signed && { apiKey: key }),
    headers: {},
    options: {
      region,
      ...(signed && { accessKeyId, secretAccessKey: "wJalrXUtnFEMI/K7MDENG/vexel" }),
    },
  },
});

interface Dialect {
  readonly fields: readonly string[];
  read(body: Readonly<Record<string, unknown>>): Omit<Understood, "encoding">;
  response(vectors: readonly Float32Array[], tokens: number | undefined): VendorResponse;
  readonly quantized?: NonNullable<VendorCase["quantized"]>;
}

const one = (text: unknown): Understood["input"] => {
  if (typeof text !== "string") throw new Error("the text is missing");
  return { kind: "text", texts: [text] };
};

const titan = (fields: readonly string[]): Dialect => ({
  fields,
  read: ({ inputText, dimensions }) => ({
    input: one(inputText),
    ...(typeof dimensions === "number" && { dimensions }),
  }),
  response: ([vector], tokens) => ({
    body: `{"embedding":${writeFloats(vector)}${
      tokens === undefined ? "" : `,"inputTextTokenCount":${tokens}`
    }}`,
  }),
});

/** github.com/vercel/ai/pull/5642: a binary vector is a list of 0 and 1. */
const titan2: Dialect = {
  ...titan(["inputText", "dimensions", "normalize", "embeddingTypes"]),
  read: ({ inputText, dimensions, embeddingTypes }) => ({
    input: one(inputText),
    ...(typeof dimensions === "number" && { dimensions }),
    ...(JSON.stringify(embeddingTypes) === '["binary"]' && { outputType: "ubinary" as const }),
  }),
  quantized: (vectors) => {
    const [binary] = vectors.map((vector) =>
      [...vector].flatMap((byte) => [...byte.toString(2).padStart(8, "0")].map(Number)),
    );
    return { body: JSON.stringify({ inputTextTokenCount: 3, embeddingsByType: { binary } }) };
  },
};

/** Titan Multimodal Embeddings, given texts. */
const titanMultimodal: Dialect = {
  ...titan(["inputText", "embeddingConfig"]),
  read: ({ inputText, embeddingConfig }) => {
    const config = (embeddingConfig ?? {}) as { outputEmbeddingLength?: number };
    expectOnly(config, ["outputEmbeddingLength"]);
    const { outputEmbeddingLength: dimensions } = config;
    return { input: one(inputText), ...(dimensions !== undefined && { dimensions }) };
  },
};

/** `bare`: the response has a plain list of vectors (v3) instead of vectors by type (v4). */
const cohere = (fields: readonly string[], bare: boolean): Dialect => ({
  fields,
  read: ({ texts, input_type, output_dimension, truncate, embedding_types }) => {
    if (truncate !== "NONE") throw new Error("truncation was not requested");
    if (typeof input_type !== "string") throw new Error("required key [input_type] not found");
    return {
      input: { kind: "text", texts: texts as string[] },
      taskType: input_type,
      ...(typeof output_dimension === "number" && { dimensions: output_dimension }),
      ...outputTypeIn([embedding_types].flat()[0]),
    };
  },
  quantized: (vectors, type) => ({
    body: JSON.stringify({
      response_type: "embeddings_by_type",
      embeddings: { [type]: vectors.map((vector) => [...vector]) },
    }),
  }),
  response: (vectors, tokens) => {
    const list = `[${vectors.map(writeFloats).join(",")}]`;
    const embeddings = bare ? list : `{"float":${list}}`;
    const type = bare ? "embeddings_floats" : "embeddings_by_type";
    return {
      ...(tokens !== undefined && {
        headers: { "x-amzn-bedrock-input-token-count": String(tokens) },
      }),
      body: `{"id":"0","response_type":"${type}","texts":[],"embeddings":${embeddings}}`,
    };
  },
});

const nova: Dialect = {
  fields: ["taskType", "singleEmbeddingParams"],
  read: ({ taskType, singleEmbeddingParams }) => {
    if (taskType !== "SINGLE_EMBEDDING") throw new Error("taskType must be SINGLE_EMBEDDING");
    const params = singleEmbeddingParams as Readonly<Record<string, unknown>>;
    expectOnly(params, ["embeddingPurpose", "embeddingDimension", "text"]);
    const { embeddingPurpose, embeddingDimension, text } = params;
    if (typeof embeddingPurpose !== "string") throw new Error("embeddingPurpose is required");
    const { truncationMode, value } = text as { truncationMode?: string; value?: string };
    if (truncationMode !== "NONE") throw new Error("truncation was not requested");
    return {
      input: one(value),
      taskType: embeddingPurpose,
      ...(typeof embeddingDimension === "number" && { dimensions: embeddingDimension }),
    };
  },
  response: ([vector], tokens) => ({
    ...(tokens !== undefined && {
      headers: { "x-amzn-bedrock-input-token-count": String(tokens) },
    }),
    body: `{"embeddings":[{"embeddingType":"TEXT","embedding":${writeFloats(vector)}}]}`,
  }),
};

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-marengo-3.html */
const marengo: Dialect = {
  fields: ["inputType", "text"],
  read: ({ inputType, text }) => {
    if (inputType !== "text") throw new Error("inputType must be text");
    return { input: one((text as { inputText?: unknown }).inputText) };
  },
  response: ([vector], tokens) => ({
    ...(tokens !== undefined && {
      headers: { "x-amzn-bedrock-input-token-count": String(tokens) },
    }),
    body: `{"data":[{"embedding":${writeFloats(vector)}}]}`,
  }),
};

function understand(request: UpstreamRequest, { model, upstream }: Target, dialect: Dialect) {
  expectUrl(request, `https://${host}/model/${encodeURIComponent(model)}/invoke`);
  if (upstream.apiKey !== undefined) expectHeader(request, "authorization", `Bearer ${key}`);
  const body = readBody(request);
  expectOnly(body, dialect.fields);
  return { ...dialect.read(body), encoding: "float" as const };
}

const refusal = (status: number, type: string, message: string): VendorResponse => ({
  status,
  headers: { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
  body: JSON.stringify({ message }),
});

/** https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html */
const refusals: VendorCase["refusals"] = [
  {
    ...refusal(
      400,
      "ValidationException",
      `Malformed input request: #/texts/0: expected maxLength: 2048, actual: 3000 (${host}, arn:aws:bedrock:us-east-1:${account}:x), please reformat your input and try again.`,
    ),
    error: "upstream_rejected",
  },
  {
    ...refusal(400, "ValidationException", "The provided model identifier is invalid."),
    error: "model_not_found",
  },
  {
    ...refusal(
      404,
      "ResourceNotFoundException",
      `Could not resolve arn:aws:bedrock:us-east-1:${account}:inference-profile/x`,
    ),
    error: "model_not_found",
  },
  {
    ...refusal(
      403,
      "AccessDeniedException",
      `User: arn:aws:iam::${account}:user/vexel is not authorized to perform: bedrock:InvokeModel`,
    ),
    error: "upstream_forbidden",
  },
  {
    ...refusal(
      403,
      "AccessDeniedException",
      "Authentication failed: Please make sure your API Key is valid.",
    ),
    error: "upstream_credentials",
  },
  {
    ...refusal(
      403,
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
    ),
    error: "upstream_credentials",
  },
  {
    ...refusal(
      403,
      "ExpiredTokenException",
      "The security token included in the request is expired",
    ),
    error: "upstream_credentials",
  },
  {
    status: 403,
    body: '{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"The request signature we calculated does not match the signature you provided."}',
    error: "upstream_credentials",
  },
  {
    ...refusal(429, "ThrottlingException", "Too many requests, please wait before trying again."),
    error: "upstream_rate_limit",
  },
  {
    ...refusal(400, "ServiceQuotaExceededException", "Your request exceeds the service quota."),
    error: "upstream_rate_limit",
  },
  {
    ...refusal(429, "ModelNotReadyException", "Model is not ready for inference."),
    error: "upstream_overloaded",
  },
  {
    ...refusal(408, "ModelTimeoutException", "Model has timed out in processing the request."),
    error: "upstream_timeout",
  },
  {
    ...refusal(424, "ModelErrorException", "The system encountered an unexpected error."),
    error: "upstream_error",
  },
  {
    ...refusal(503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    error: "upstream_overloaded",
  },
  { status: 500, body: "", error: "upstream_error" },
];

const caseOf = (name: string, target: Target, dialect: Dialect): VendorCase => ({
  name,
  target,
  understand: (request) => understand(request, target, dialect),
  response: dialect.response,
  ...(dialect.quantized && { quantized: dialect.quantized }),
  tellsUsage: true,
  refusals,
});

const cohere3 = ["texts", "input_type", "truncate", "embedding_types"];
const cohere4 = [...cohere3, "output_dimension", "max_tokens"];

export const bedrockCases: readonly VendorCase[] = [
  caseOf("bedrock, titan v1", targetOf("amazon.titan-embed-text-v1"), titan(["inputText"])),
  caseOf("bedrock, titan v2", targetOf("amazon.titan-embed-text-v2:0"), titan2),
  caseOf("bedrock, titan multimodal", targetOf("amazon.titan-embed-image-v1"), titanMultimodal),
  caseOf("bedrock, signed", targetOf("amazon.titan-embed-text-v2:0", true), titan2),
  caseOf("bedrock, cohere v3", targetOf("cohere.embed-multilingual-v3"), cohere(cohere3, true)),
  caseOf("bedrock, cohere v4", targetOf("eu.cohere.embed-v4:0"), cohere(cohere4, false)),
  caseOf("bedrock, nova", targetOf("amazon.nova-2-multimodal-embeddings-v1:0"), nova),
  caseOf("bedrock, marengo", targetOf("us.twelvelabs.marengo-embed-3-0-v1:0"), marengo),
];
