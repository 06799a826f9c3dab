/** Every OpenAI-compatible kind, with requests and responses as in OpenAI's own API. */
import { adapters, openaiEmbeddingsVendors } from "../../server/upstream/adapters/index.ts";
import type { EmbeddingInput, Target } from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { taskTypeFields } from "../../server/upstream/task-type.ts";
import type { VendorCase } from "./vendor-case.ts";
import { outputTypeIn, quantizedList, readBody, writeFloats } from "./written.ts";

const key = "sk-upstream-0123456789abcdef";

const targetOf = (
  kind: string,
  options: Record<string, unknown>,
  model = "org/target-model",
): Target => ({
  model,
  upstream: {
    id: "upstream",
    kind,
    baseUrl: kinds.get(kind)?.baseUrl ?? "https://upstream.example/v1",
    apiKey: key,
    headers: {},
    options,
  },
});

const capabilitiesOf = (target: Target) => {
  const endpoint = adapters.get(target.upstream.kind)?.embeddings;
  if (!endpoint) throw new Error(`${target.upstream.kind} has no embeddings`);
  return endpoint.capabilities(target);
};

const understand: VendorCase["understand"] = (request, target) => {
  const { pathname } = new URL(request.url);
  if (!pathname.endsWith("/embeddings")) throw new Error(`unexpected path ${pathname}`);
  const { model, messages, encoding_format, dimensions, ...others } = readBody(request);
  const input = messages ? textIn(messages) : others.input;
  if (model !== target.model) throw new Error(`there is no model ${String(model)}`);
  const { taskTypes, outputTypes } = capabilitiesOf(target);
  const field =
    typeof taskTypes === "object" ? taskTypes.field : taskTypeFields.find((name) => name in others);
  const taskType = field === undefined ? undefined : others[field];
  return {
    input: readInput(input),
    encoding: encoding_format === "base64" ? "base64" : "float",
    ...(typeof dimensions === "number" && { dimensions }),
    ...(typeof taskType === "string" && { taskType }),
    ...outputTypeIn(outputTypes && { encoding_format, ...others }[outputTypes.field]),
  };
};

/** The text of a conversation: what its user says. */
function textIn(messages: unknown): string {
  const list = messages as { role: string; content: { text: string }[] }[];
  const [content, ...others] = list.flatMap((one) => (one.role === "user" ? one.content : []));
  if (!content || others.length > 0) throw new Error("it is not one text");
  return content.text;
}

function readInput(input: unknown): EmbeddingInput {
  const given: unknown[] = Array.isArray(input) ? input : [input];
  // SGLang has objects for models that read images.
  const entries = given.map((entry) =>
    typeof entry === "object" && entry !== null && "text" in entry ? entry.text : entry,
  );
  if (entries.every((entry) => typeof entry === "string")) return { kind: "text", texts: entries };
  const lists = typeof entries[0] === "number" ? [entries] : entries;
  return { kind: "tokens", tokens: lists as number[][] };
}

const packed = (vector: Float32Array): string =>
  `"${Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")}"`;

const error = (message: string, type: string, code: string | null): string =>
  JSON.stringify({ error: { message, type, param: null, code } });

/** https://platform.openai.com/docs/guides/error-codes, as recorded by the official clients' tests. */
const refusals: VendorCase["refusals"] = [
  {
    status: 401,
    body: error(
      `Incorrect API key provided: ${key}. You can find your API key at https://platform.openai.com/account/api-keys.`,
      "invalid_request_error",
      "invalid_api_key",
    ),
    error: "upstream_credentials",
  },
  {
    status: 429,
    headers: { "retry-after": "20" },
    body: error(
      "Rate limit reached for org/target-model in organization org-0123456789 on requests per min.",
      "requests",
      "rate_limit_exceeded",
    ),
    error: "upstream_rate_limit",
  },
  {
    status: 429,
    body: error(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    error: "insufficient_quota",
  },
  {
    status: 400,
    body: error(
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
      "invalid_request_error",
      null,
    ),
    error: "context_length_exceeded",
  },
  // llama.cpp, tools/server/server-context.cpp, behind this server.
  {
    status: 500,
    body: JSON.stringify({
      error: {
        code: 500,
        message:
          "input (602 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
        type: "server_error",
      },
    }),
    error: "context_length_exceeded",
  },
  {
    status: 400,
    body: JSON.stringify({
      error: {
        code: 400,
        message:
          "request (602 tokens) exceeds the available context size (512 tokens), try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 602,
        n_ctx: 512,
      },
    }),
    error: "context_length_exceeded",
  },
  {
    status: 404,
    body: error(
      "The model `org/target-model` does not exist or you do not have access to it.",
      "invalid_request_error",
      "model_not_found",
    ),
    error: "model_not_found",
  },
  { status: 500, body: "<html>Internal Server Error</html>", error: "upstream_error" },
  { status: 503, body: error("overloaded", "server_error", null), error: "upstream_overloaded" },
];

function caseOf(name: string, target: Target): VendorCase {
  const { base64, outputTypes } = capabilitiesOf(target);
  const servesAnyName = target.upstream.kind === "infinity";
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => {
      const data = vectors.map((vector, index) => {
        const embedding = base64 ? packed(vector) : writeFloats(vector);
        return `{"object":"embedding","index":${index},"embedding":${embedding}}`;
      });
      const usage =
        tokens === undefined ? "" : `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
      // Another model in a response of Infinity is an error.
      const model = servesAnyName ? target.model : "m";
      return { body: `{"object":"list","data":[${data.join(",")}],"model":"${model}"${usage}}` };
    },
    ...(outputTypes && { quantized: quantizedList }),
    // Infinity counts characters.
    tellsUsage: !servesAnyName,
    refusals,
  };
}

export const openaiShapedCases: readonly VendorCase[] = [
  ...openaiEmbeddingsVendors.map(({ kind: { name } }) => caseOf(name, targetOf(name, {}))),
  caseOf("azure-ai, Cohere", targetOf("azure-ai", {}, "Cohere-embed-v3-english")),
  caseOf("azure-ai, Cohere Embed 4", targetOf("azure-ai", {}, "embed-v-4-0")),
  caseOf(
    "openrouter, a model that reads images",
    targetOf("openrouter", {}, "google/gemini-embedding-2"),
  ),
  ...[
    ["vllm", "Qwen/Qwen3-VL-Embedding-8B"],
    ["sglang", "Alibaba-NLP/gme-Qwen2-VL-2B-Instruct"],
    ["infinity", "jinaai/jina-clip-v1"],
    ["xinference", "jina-clip-v2"],
    ["nvidia", "nvidia/llama-nemotron-embed-vl-1b-v2"],
  ].map(([kind = "", model]) =>
    caseOf(`${kind}, a model that reads images`, targetOf(kind, {}, model)),
  ),
  caseOf("nvidia, Nemotron 3.5", targetOf("nvidia", {}, "nvidia/nemotron-3.5-embed-1b")),
  caseOf("vllm, CLIP", targetOf("vllm", {}, "openai/clip-vit-base-patch32")),
  caseOf("azure with apiVersion", targetOf("azure", { apiVersion: "2025-04-01-preview" })),
];
