/**
 * Mistral: https://docs.mistral.ai/api/endpoint/embeddings; errors as in public reports; where none was found, the
 * messages are made up.
 */
import { bodyAt, expectModel, lengthIn, targetOf, textsIn } from "./bearer-case.ts";
import type { VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, "https://api.mistral.ai/v1/embeddings");
  expectOnly(body, ["model", "input", "output_dimension", "output_dtype", "encoding_format"]);
  expectModel(body, target);
  if (body.output_dimension !== undefined && target.model === "mistral-embed")
    throw new Error("This model does not support output_dimension");
  return {
    input: textsIn(body.input),
    encoding: body.encoding_format === "base64" ? "base64" : "float",
    ...lengthIn(body.output_dimension),
  };
};

const error = (message: unknown, type: string, code: string | null): string =>
  JSON.stringify({ object: "error", message, type, param: null, code });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("mistral", model);
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => {
      const data = vectors.map(
        (vector, index) =>
          `{"object":"embedding","embedding":${writeFloats(vector)},"index":${index}}`,
      );
      const usage =
        tokens === undefined
          ? ""
          : `,"usage":{"prompt_tokens":${tokens},"completion_tokens":0,"total_tokens":${tokens}}`;
      return {
        body: `{"id":"eb4c2739780f4f0a9d1d2bbbd4ba1b2a","object":"list","data":[${data.join(",")}],"model":"${model}"${usage}}`,
      };
    },
    tellsUsage: true,
    refusals: [
      { status: 401, body: '{"detail":"Unauthorized"}', error: "upstream_credentials" },
      {
        status: 400,
        body: error(
          "Too many tokens overall, split into more batches.",
          "invalid_request_prompt",
          "3210",
        ),
        error: "max_tokens_per_request",
      },
      {
        status: 400,
        body: error(
          "Too many inputs in request, split into more batches.",
          "invalid_request_prompt",
          "3210",
        ),
        error: "max_tokens_per_request",
      },
      {
        status: 400,
        body: error(
          "Input id 0 has 9001 tokens, exceeding max 8192 tokens.",
          "invalid_request_prompt",
          "3051",
        ),
        error: "upstream_rejected",
      },
      {
        status: 400,
        body: error(`Invalid model: ${model}`, "invalid_model", "1500"),
        error: "model_not_found",
      },
      {
        status: 422,
        body: error(
          {
            detail: [
              {
                type: "extra_forbidden",
                loc: ["body", "user"],
                msg: "Extra inputs are not permitted",
              },
            ],
          },
          "invalid_request_error",
          null,
        ),
        error: "upstream_rejected",
      },
      {
        status: 429,
        body: error("Service tier capacity exceeded for this model.", "rate_limited", "1300"),
        error: "upstream_rate_limit",
      },
      {
        status: 500,
        body: error("Internal Server Error", "internal_server_error", "1000"),
        error: "upstream_error",
      },
      {
        status: 503,
        body: '{"message":"upstream connect error"}',
        error: "upstream_overloaded",
      },
    ],
  };
};

export const mistralCases: readonly VendorCase[] = [
  caseOf("mistral", "mistral-embed"),
  caseOf("mistral, codestral-embed", "codestral-embed"),
];
