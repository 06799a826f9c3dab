/**
 * Mistral: https://docs.mistral.ai/api/endpoint/embeddings; errors as in public reports; where none was found, the
 * messages are made up.
 */
import { bodyAt, expectModel, lengthIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, outputTypeIn, quantizedList, writeFloats } from "./written.ts";

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
    ...outputTypeIn(body.output_dtype),
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
    ...(model === "codestral-embed" && { quantized: quantizedList }),
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, '{"detail":"Unauthorized"}'],
      [
        "max_tokens_per_request",
        400,
        error(
          "Too many tokens overall, split into more batches.",
          "invalid_request_prompt",
          "3210",
        ),
      ],
      [
        "max_tokens_per_request",
        400,
        error(
          "Too many inputs in request, split into more batches.",
          "invalid_request_prompt",
          "3210",
        ),
      ],
      [
        "context_length_exceeded",
        400,
        error(
          "Input id 0 has 9001 tokens, exceeding max 8192 tokens.",
          "invalid_request_prompt",
          "3051",
        ),
      ],
      ["model_not_found", 400, error(`Invalid model: ${model}`, "invalid_model", "1500")],
      [
        "upstream_rejected",
        422,
        error(
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
      ],
      [
        "upstream_rate_limit",
        429,
        error("Service tier capacity exceeded for this model.", "rate_limited", "1300"),
      ],
      ["upstream_error", 500, error("Internal Server Error", "internal_server_error", "1000")],
      ["upstream_overloaded", 503, '{"message":"upstream connect error"}'],
    ]),
  };
};

export const mistralCases: readonly VendorCase[] = [
  caseOf("mistral", "mistral-embed"),
  caseOf("mistral, codestral-embed", "codestral-embed"),
];
