/** Vertex AI: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { splitPrefix } from "./gemini.ts";
import { googleRefusals } from "./google-refusals.ts";
import type { Understood, VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const key = "ya29.vexel-0123456789abcdef";
const project = "otters-4711";
const location = "us-central1";
const host = `${location}-aiplatform.googleapis.com`;

const targetOf = (model: string, options: Record<string, unknown> = {}): Target => ({
  model,
  upstream: {
    id: "vertex",
    kind: "vertex",
    ...(!("serviceAccount" in options) && { apiKey: key }),
    headers: {},
    options: { project, location, ...options },
  },
});

const addressOf = (model: string, method: string): string => {
  const [publisher, name] = model.includes("/") ? model.split("/") : ["google", model];
  return `https://${host}/v1/projects/${project}/locations/${location}/publishers/${publisher}/models/${name}:${method}`;
};

function understandPredict(request: UpstreamRequest, model: string): Understood {
  expectUrl(request, addressOf(model, "predict"));
  const body = readBody(request);
  expectOnly(body, ["instances", "parameters"]);
  const instances = body.instances as readonly { content: string; task_type?: string }[];
  if (model.includes("gemini") && instances.length > 1) throw new Error("batchSize must be 1");
  if (instances.length > 250) throw new Error("250 instances are allowed");
  for (const instance of instances) expectOnly(instance, ["content", "task_type"]);
  const parameters = (body.parameters ?? {}) as Readonly<Record<string, unknown>>;
  expectOnly(parameters, ["outputDimensionality", "autoTruncate"]);
  const { outputDimensionality, autoTruncate } = parameters;
  if (autoTruncate !== false) throw new Error("truncation was not requested");
  const taskType = instances[0]?.task_type;
  return {
    input: { kind: "text", texts: instances.map(({ content }) => content) },
    encoding: "float",
    ...(typeof outputDimensionality === "number" && { dimensions: outputDimensionality }),
    ...(taskType !== undefined && { taskType }),
  };
}

function understandContent(request: UpstreamRequest, model: string): Understood {
  expectUrl(request, addressOf(model, "embedContent"));
  const body = readBody(request);
  expectOnly(body, ["content", "embedContentConfig"]);
  const config = (body.embedContentConfig ?? {}) as {
    outputDimensionality?: number;
    autoTruncate?: boolean;
    taskType?: string;
  };
  expectOnly(config, ["outputDimensionality", "autoTruncate", "taskType"]);
  if (config.autoTruncate !== false) throw new Error("truncation was not requested");
  const { parts } = body.content as { parts: readonly { text: string }[] };
  if (parts.length !== 1) throw new Error("one part is allowed");
  const { text, taskType } = model.includes("maas")
    ? { text: parts[0]?.text ?? "", taskType: config.taskType }
    : splitPrefix(parts[0]?.text ?? "");
  return {
    input: { kind: "text", texts: [text] },
    encoding: "float",
    ...(config.outputDimensionality !== undefined && { dimensions: config.outputDimensionality }),
    ...(taskType !== undefined && { taskType }),
  };
}

/** google-cloud-aiplatform 2.7.0, vision_models.py, MultiModalEmbeddingModel.get_embeddings. */
function understandMultimodal(request: UpstreamRequest, model: string): Understood {
  expectUrl(request, addressOf(model, "predict"));
  const body = readBody(request);
  expectOnly(body, ["instances", "parameters"]);
  const instances = body.instances as readonly { text: string }[];
  if (instances.length !== 1) throw new Error("one instance is allowed");
  for (const instance of instances) expectOnly(instance, ["text"]);
  const { dimension, ...others } = (body.parameters ?? {}) as Readonly<Record<string, unknown>>;
  expectOnly(others, []);
  if (![undefined, 128, 256, 512, 1408].includes(dimension as number | undefined))
    throw new Error("there is no such dimension");
  return {
    input: { kind: "text", texts: instances.map(({ text }) => text) },
    encoding: "float",
    ...(typeof dimension === "number" && { dimensions: dimension }),
  };
}

const multimodalResponse =
  (name: "textEmbedding" | "imageEmbedding"): VendorCase["response"] =>
  (vectors) => {
    const predictions = vectors.map((vector) => `{"${name}":${writeFloats(vector)}}`);
    return { body: `{"predictions":[${predictions.join(",")}],"deployedModelId":"4711"}` };
  };

const multimodal: Partial<VendorCase> = {
  understand: (request, { model }) => {
    expectHeader(request, "authorization", `Bearer ${key}`);
    return understandMultimodal(request, model);
  },
  response: multimodalResponse("textEmbedding"),
  imageResponse: multimodalResponse("imageEmbedding"),
  tellsUsage: false,
};

const predicted = (vectors: readonly Float32Array[], tokens: number | undefined): string => {
  // All tokens in the first entry: only the sum matters.
  const statistics = (at: number) =>
    tokens === undefined
      ? ""
      : `"statistics":{"truncated":false,"token_count":${at === 0 ? tokens : 0}},`;
  const predictions = vectors.map(
    (vector, at) => `{"embeddings":{${statistics(at)}"values":${writeFloats(vector)}}}`,
  );
  return `{"predictions":[${predictions.join(",")}],"metadata":{"billableCharacterCount":11}}`;
};

const contained = ([vector]: readonly Float32Array[], tokens: number | undefined): string => {
  const usage = tokens === undefined ? "" : `,"usageMetadata":{"promptTokenCount":${tokens}}`;
  return `{"embedding":{"values":${writeFloats(vector)}},"truncated":false${usage}}`;
};

function caseOf(name: string, target: Target): VendorCase {
  const { model, upstream } = target;
  const content = /gemini-embedding-2|maas/.test(model);
  return {
    name,
    target,
    understand: (request) => {
      if (upstream.apiKey !== undefined) expectHeader(request, "authorization", `Bearer ${key}`);
      return content ? understandContent(request, model) : understandPredict(request, model);
    },
    response: (vectors, tokens) => ({ body: (content ? contained : predicted)(vectors, tokens) }),
    tellsUsage: true,
    refusals: googleRefusals({ host, project }),
  };
}

export const vertexCases: readonly VendorCase[] = [
  caseOf("vertex, text-embedding-005", targetOf("text-embedding-005")),
  caseOf("vertex, gemini-embedding-001", targetOf("gemini-embedding-001")),
  caseOf("vertex, gemini-embedding-2", targetOf("gemini-embedding-2")),
  {
    ...caseOf("vertex, multimodalembedding", targetOf("multimodalembedding@001")),
    ...multimodal,
  },
  caseOf(
    "vertex, an open model as a service",
    targetOf("intfloat/multilingual-e5-large-instruct-maas"),
  ),
  caseOf(
    "vertex, with a service account",
    targetOf("text-multilingual-embedding-002", {
      serviceAccount: {
        client_email: "gateway@otters-4711.iam.gserviceaccount.com",
        private_key: "-----BEGIN PRIVATE KEY-----",
        token_uri: "https://oauth2.googleapis.com/token",
      },
    }),
  ),
];
