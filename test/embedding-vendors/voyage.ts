/**
 * Voyage AI: https://docs.voyageai.com/reference/embeddings-api; errors as in public reports; where none was found, the
 * messages are made up.
 */
import type { Target } from "../../server/upstream/contract.ts";
import {
  bodyAt,
  expectModel,
  lengthIn,
  packed,
  purposeIn,
  targetOf,
  textsIn,
} from "./bearer-case.ts";
import { entriesIn, partIn } from "./input-images.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, outputTypeIn } from "./written.ts";

/** voyageai 0.5.0, object/multimodal_embeddings.py: a segment has the member that its type names, and no other. */
interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_base64?: string;
}

/** Each model family has its own endpoint, and each endpoint its own format of the texts. */
const endpoints = {
  embeddings: { input: "input", options: ["truncation"], read: textsIn },
  contextualizedembeddings: {
    input: "inputs",
    options: [],
    read: (value: unknown) => {
      if (!Array.isArray(value) || !value.every(Array.isArray)) throw new Error("no lists");
      return textsIn(value.flat());
    },
  },
  multimodalembeddings: {
    input: "inputs",
    options: ["truncation"],
    read: (value: unknown) => {
      const entries = value as readonly { readonly content: readonly Part[] }[];
      return entriesIn(
        entries.map(({ content }) =>
          content.map((part) => {
            expectOnly(part, ["type", part.type]);
            return partIn(part.text, part.image_base64);
          }),
        ),
      );
    },
  },
} as const;

const endpointOf = ({ model }: Target): keyof typeof endpoints =>
  model.includes("context")
    ? "contextualizedembeddings"
    : model.includes("multimodal")
      ? "multimodalembeddings"
      : "embeddings";

const understand: VendorCase["understand"] = (request, target) => {
  const path = endpointOf(target);
  const { input, options, read } = endpoints[path];
  const body = bodyAt(request, `https://api.voyageai.com/v1/${path}`);
  expectOnly(body, [
    "model",
    input,
    "input_type",
    "output_dimension",
    "encoding_format",
    "output_dtype",
    ...options,
  ]);
  expectModel(body, target);
  // Voyage accepts `base64` or no encoding: `float` is refused. voyageai 0.5.0 sends base64 with every type, and reads
  // lists too.
  const { outputType } = outputTypeIn(body.output_dtype);
  const encoding = body.encoding_format;
  if (encoding !== "base64" && !(outputType && encoding === undefined))
    throw new Error("no such encoding_format");
  if (path !== "contextualizedembeddings" && body.truncation !== false)
    throw new Error("a long text would be cut");
  return {
    input: read(body[input]),
    encoding: outputType ? "float" : "base64",
    ...(outputType && { outputType }),
    ...lengthIn(body.output_dimension),
    ...purposeIn(body.input_type),
  };
};

/** The response to a request that is not for queries: all inputs are the chunks of one document. */
function dataOf(target: Target, embeddings: readonly unknown[]) {
  const data = embeddings.map((embedding, index) => ({ object: "embedding", embedding, index }));
  if (endpointOf(target) !== "contextualizedembeddings") return data;
  return [{ object: "list", data, index: 0 }];
}

/** voyageai 0.5.0 requires every member of a multimodal response. */
const usageOf = (target: Target, tokens: number) =>
  endpointOf(target) === "multimodalembeddings"
    ? { text_tokens: tokens, image_pixels: 0, video_pixels: 0, total_tokens: tokens }
    : { total_tokens: tokens };

const detail = (message: string): string => JSON.stringify({ detail: message });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("voyage", model);
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => ({
      body: JSON.stringify({
        object: "list",
        data: dataOf(target, vectors.map(packed)),
        model,
        ...(tokens !== undefined && { usage: usageOf(target, tokens) }),
      }),
    }),
    ...(model !== "voyage-law-2" && {
      quantized: (vectors) => ({
        body: JSON.stringify({
          object: "list",
          data: dataOf(
            target,
            vectors.map((vector) => [...vector]),
          ),
          usage: usageOf(target, 3),
        }),
      }),
    }),
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, detail("Provided API key is invalid.")],
      [
        "max_tokens_per_request",
        400,
        detail(
          `Request to model '${model}' failed. The max allowed tokens per submitted batch is 120000. Your batch has 124417 tokens after truncation. Please lower the number of tokens in the batch.`,
        ),
      ],
      [
        "context_length_exceeded",
        400,
        detail(
          `Request to model '${model}' failed. The example at index 0 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens. Please lower the number of tokens in the listed example(s) or use truncation.`,
        ),
      ],
      [
        "model_not_found",
        400,
        detail(`Model ${model} is not supported. Supported models are ['voyage-4'].`),
      ],
      [
        "upstream_rate_limit",
        429,
        detail(
          "You have not yet added your payment method in the billing page and will have reduced rate limits of 3 RPM and 10K TPM.",
        ),
      ],
      ["upstream_error", 500, detail("Internal Server Error")],
      ["upstream_overloaded", 503, "<html>503</html>"],
    ]),
  };
};

export const voyageCases: readonly VendorCase[] = [
  caseOf("voyage", "voyage-3.5"),
  caseOf("voyage, a model of one length", "voyage-law-2"),
  caseOf("voyage, chunks in context", "voyage-context-4"),
  caseOf("voyage, a multimodal model", "voyage-multimodal-3.5"),
];
