/**
 * text-embeddings-inference: https://huggingface.github.io/text-embeddings-inference; refusals from router/src/http.
 */
import type { EmbeddingInput, Target } from "../../server/upstream/contract.ts";
import { words } from "../words.ts";
import { bodyAt, lengthIn, purposeIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const understand: VendorCase["understand"] = (request) => {
  const body = bodyAt(request, "http://tei.example:8080/embed");
  expectOnly(body, words("inputs truncate truncation_direction prompt_name normalize dimensions"));
  if (body.truncate !== false) throw new Error("a long text would be cut");
  return {
    input: inputsIn(body.inputs),
    encoding: "float",
    ...lengthIn(body.dimensions),
    ...purposeIn(body.prompt_name),
  };
};

function inputsIn(inputs: unknown): EmbeddingInput {
  const first: unknown = Array.isArray(inputs) ? inputs[0] : undefined;
  return Array.isArray(first) ? { kind: "tokens", tokens: inputs as number[][] } : textsIn(inputs);
}

const error = (message: string, error_type: string): string =>
  JSON.stringify({ error: message, error_type });

const caseOf = (name: string, target: Target): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors, tokens) => ({
    headers: {
      "x-compute-type": "gpu+optimized",
      ...(tokens !== undefined && { "x-compute-tokens": String(tokens) }),
    },
    body: `[${vectors.map(writeFloats).join(",")}]`,
  }),
  tellsUsage: true,
  refusals: refusalsOf([
    ["upstream_credentials", 401, ""],
    [
      "context_length_exceeded",
      413,
      error(
        "Input validation error: `inputs` must have less than 512 tokens. Given: 700",
        "Validation",
      ),
    ],
    [
      "context_length_exceeded",
      422,
      error(
        "Input validation error: `inputs` must have less than 512 tokens. Given: 700",
        "Validation",
      ),
    ],
    [
      "upstream_rejected",
      422,
      error("batch size 33 > maximum allowed batch size 32", "Validation"),
    ],
    ["upstream_error", 424, error("Backend error: CUDA", "Backend")],
    ["upstream_rate_limit", 429, error("Model is overloaded", "Overloaded")],
    ["upstream_overloaded", 503, error("unhealthy", "Unhealthy")],
  ]),
});

const baseUrl = "http://tei.example:8080";

export const teiCases: readonly VendorCase[] = [
  caseOf("tei", targetOf("tei", "BAAI/bge-m3", { baseUrl: `${baseUrl}/v1` })),
  caseOf(
    "tei, with prompts",
    targetOf("tei", "intfloat/multilingual-e5-large", {
      baseUrl,
      options: { prompts: { query: "query", document: "doc" }, maxItems: 128 },
    }),
  ),
];
