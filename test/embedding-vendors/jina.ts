/** Jina AI: https://api.jina.ai/openapi.json. */
import {
  bodyAt,
  expectModel,
  key,
  lengthIn,
  packed,
  purposeIn,
  targetOf,
  textsIn,
} from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, outputTypeIn, quantizedList } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, "https://api.jina.ai/v1/embeddings");
  expectOnly(body, [
    "model",
    "input",
    "embedding_type",
    ...(target.model.includes("embeddings-v2") ? [] : ["task", "dimensions"]),
  ]);
  expectModel(body, target);
  const { outputType } = outputTypeIn(body.embedding_type);
  if (outputType ? !outputType.endsWith("binary") : body.embedding_type !== "base64")
    throw new Error("no such embedding_type");
  return {
    input: textsIn(body.input),
    encoding: outputType ? "float" : "base64",
    ...(outputType && { outputType }),
    ...lengthIn(body.dimensions),
    ...purposeIn(body.task),
  };
};

const errorBody = (code: string, detail: string): string =>
  JSON.stringify({ detail, code, request_id: "03f58cd9da22fabf" });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("jina", model);
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => ({
      body: JSON.stringify({
        model,
        object: "list",
        ...(tokens !== undefined && { usage: { total_tokens: tokens, prompt_tokens: tokens } }),
        data: vectors.map((vector, index) => ({
          object: "embedding",
          index,
          embedding: packed(vector),
        })),
      }),
    }),
    quantized: quantizedList,
    tellsUsage: true,
    refusals: refusalsOf([
      [
        "upstream_credentials",
        401,
        errorBody("AUTH_INVALID_API_KEY", `Invalid API key ${key}. Verify your API key.`),
      ],
      [
        "insufficient_quota",
        403,
        errorBody("AUTHZ_INSUFFICIENT_BALANCE", "Insufficient account balance. Top up."),
      ],
      [
        "model_not_found",
        400,
        errorBody("INPUT_MODEL_NOT_FOUND", `Model '${model}' not found. Available models: x.`),
      ],
      [
        "upstream_rejected",
        400,
        JSON.stringify({
          detail: `[RID: ec422fa8b74c3c20b493406ac1388555] Validation error: 'body -> ${model}' Each input list can contain at most 512 items.`,
        }),
      ],
      [
        "context_length_exceeded",
        400,
        JSON.stringify({
          detail: {
            message:
              "Input text exceeds the model's maximum of 8194 tokens. Use 'truncate: true' to automatically truncate, or split into smaller chunks.",
            request_id: "r",
            code: "INPUT_TOKEN_LIMIT_EXCEEDED",
          },
        }),
      ],
      [
        "upstream_rejected",
        422,
        JSON.stringify({
          detail: [{ loc: ["body", "dimensions"], msg: "Input should be greater than 0" }],
        }),
      ],
      [
        "upstream_rate_limit",
        429,
        errorBody("RATE_TOKEN_LIMIT_EXCEEDED", "Token rate limit exceeded: 1/1 tokens."),
      ],
      ["upstream_error", 500, errorBody("INTERNAL_ERROR", "An unexpected error occurred.")],
      [
        "upstream_overloaded",
        503,
        errorBody("SERVICE_UNAVAILABLE", "Service temporarily unavailable."),
      ],
      [
        "upstream_timeout",
        504,
        errorBody("SERVICE_TIMEOUT", "Request timed out after 60 seconds."),
      ],
    ]),
  };
};

export const jinaCases: readonly VendorCase[] = [
  caseOf("jina", "jina-embeddings-v5-text-small"),
  caseOf("jina, v4", "jina-embeddings-v4"),
  caseOf("jina, clip", "jina-clip-v2"),
  caseOf("jina, v3", "jina-embeddings-v3"),
  caseOf("jina, v2", "jina-embeddings-v2-base-en"),
  caseOf("jina, code", "jina-code-embeddings-1.5b"),
];
