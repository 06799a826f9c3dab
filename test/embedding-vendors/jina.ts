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
import type { VendorCase } from "./vendor-case.ts";
import { expectOnly } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, "https://api.jina.ai/v1/embeddings");
  expectOnly(body, [
    "model",
    "input",
    "embedding_type",
    ...(target.model.includes("v2") ? [] : ["task", "dimensions"]),
  ]);
  expectModel(body, target);
  if (body.embedding_type !== "base64") throw new Error("no such embedding_type");
  return {
    input: textsIn(body.input),
    encoding: "base64",
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
    tellsUsage: true,
    refusals: [
      {
        status: 401,
        body: errorBody("AUTH_INVALID_API_KEY", `Invalid API key ${key}. Verify your API key.`),
        error: "upstream_credentials",
      },
      {
        status: 403,
        body: errorBody("AUTHZ_INSUFFICIENT_BALANCE", "Insufficient account balance. Top up."),
        error: "insufficient_quota",
      },
      {
        status: 400,
        body: errorBody(
          "INPUT_MODEL_NOT_FOUND",
          `Model '${model}' not found. Available models: x.`,
        ),
        error: "model_not_found",
      },
      {
        status: 400,
        body: JSON.stringify({
          detail: `[RID: ec422fa8b74c3c20b493406ac1388555] Validation error: 'body -> ${model}' Each input list can contain at most 512 items.`,
        }),
        error: "upstream_rejected",
      },
      {
        status: 400,
        body: JSON.stringify({
          detail: {
            message:
              "Input text exceeds the model's maximum of 8194 tokens. Use 'truncate: true' to automatically truncate, or split into smaller chunks.",
            request_id: "r",
            code: "INPUT_TOKEN_LIMIT_EXCEEDED",
          },
        }),
        error: "upstream_rejected",
      },
      {
        status: 422,
        body: JSON.stringify({
          detail: [{ loc: ["body", "dimensions"], msg: "Input should be greater than 0" }],
        }),
        error: "upstream_rejected",
      },
      {
        status: 429,
        body: errorBody("RATE_TOKEN_LIMIT_EXCEEDED", "Token rate limit exceeded: 1/1 tokens."),
        error: "upstream_rate_limit",
      },
      {
        status: 500,
        body: errorBody("INTERNAL_ERROR", "An unexpected error occurred."),
        error: "upstream_error",
      },
      {
        status: 503,
        body: errorBody("SERVICE_UNAVAILABLE", "Service temporarily unavailable."),
        error: "upstream_overloaded",
      },
      {
        status: 504,
        body: errorBody("SERVICE_TIMEOUT", "Request timed out after 60 seconds."),
        error: "upstream_timeout",
      },
    ],
  };
};

export const jinaCases: readonly VendorCase[] = [
  caseOf("jina", "jina-embeddings-v5-text-small"),
  caseOf("jina, v4", "jina-embeddings-v4"),
  caseOf("jina, v3", "jina-embeddings-v3"),
  caseOf("jina, v2", "jina-embeddings-v2-base-en"),
  caseOf("jina, code", "jina-code-embeddings-1.5b"),
];
