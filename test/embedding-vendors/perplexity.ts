/** Perplexity: https://docs.perplexity.ai/api-reference/embeddings-post; the error messages are made up. */
import { bodyAt, expectModel, lengthIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  const contextual = target.model.includes("context");
  const path = contextual ? "contextualizedembeddings" : "embeddings";
  const body = bodyAt(request, `https://api.perplexity.ai/v1/${path}`);
  expectOnly(body, ["model", "input", "dimensions", "encoding_format"]);
  expectModel(body, target);
  const isBinary = body.encoding_format === "base64_binary";
  if (!isBinary && body.encoding_format !== "base64_int8")
    throw new Error("no such encoding_format");
  const input = contextual ? documentIn(body.input) : body.input;
  return {
    input: textsIn(input),
    encoding: "base64",
    ...lengthIn(body.dimensions),
    ...(isBinary && { outputType: "ubinary" as const }),
  };
};

/** The chunks of the only document in the request. */
function documentIn(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 1) throw new Error("not one document");
  return value[0];
}

const bytes = (vector: ArrayLike<number>): string =>
  Buffer.from(Int8Array.from(vector).buffer).toString("base64");

/** docs.perplexity.ai/docs/embeddings/best-practices: "1 bit per dimension, LSB first". */
const lowestFirst = (byte: number): number =>
  Number.parseInt([...byte.toString(2).padStart(8, "0")].reverse().join(""), 2);

const dataOf = (vectors: readonly ArrayLike<number>[]) =>
  vectors.map((vector, index) => ({ object: "embedding", index, embedding: bytes(vector) }));

const error = (message: string, type: string, code: number): string =>
  JSON.stringify({ error: { message, type, code } });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("perplexity", model);
  const contextual = model.includes("context");
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => ({
      body: JSON.stringify({
        object: "list",
        data: contextual ? [{ object: "list", index: 0, data: dataOf(vectors) }] : dataOf(vectors),
        model: target.model,
        ...(tokens !== undefined && {
          usage: {
            prompt_tokens: tokens,
            total_tokens: tokens,
            cost: { input_cost: 4e-9, total_cost: 4e-9, currency: "USD" },
          },
        }),
      }),
    }),
    quantized: (vectors, type) => {
      const data = dataOf(
        type === "int8" ? vectors : vectors.map((vector) => Array.from(vector, lowestFirst)),
      );
      return {
        body: JSON.stringify({
          object: "list",
          data: contextual ? [{ object: "list", index: 0, data }] : data,
        }),
      };
    },
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, error("Invalid API key provided.", "invalid_api_key", 401)],
      [
        "context_length_exceeded",
        400,
        error("Input text at index 0 exceeds 32768 tokens", "invalid_request", 400),
      ],
      [
        "upstream_rejected",
        422,
        JSON.stringify({
          detail: [{ loc: ["body", "input"], msg: "Field required", type: "missing" }],
        }),
      ],
      ["upstream_rate_limit", 429, error("Request rate limit exceeded.", "rate_limit", 429)],
      ["upstream_error", 500, "<html>500</html>"],
      ["upstream_overloaded", 503, ""],
    ]),
  };
};

export const perplexityCases: readonly VendorCase[] = [
  caseOf("perplexity", "pplx-embed-v1-0.6b"),
  caseOf("perplexity, chunks in context", "pplx-embed-context-v1-4b"),
];
