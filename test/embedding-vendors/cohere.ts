/** Cohere: https://docs.cohere.com/reference/embed, refusals from https://docs.cohere.com/reference/errors. */
import type { Target } from "../../server/upstream/contract.ts";
import { words } from "../words.ts";
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
import { entriesIn, partIn } from "./input-images.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, outputTypeIn } from "./written.ts";

interface Part {
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

/** cohere 7.3.1, v2/client.py: one of `texts`, `inputs` and `images`. */
function inputIn({
  texts,
  inputs,
  images,
  input_type: purpose,
}: Readonly<Record<string, unknown>>) {
  if ([texts, inputs, images].filter((list) => list !== undefined).length !== 1)
    throw new Error("exactly one of texts, inputs and images must be provided");
  if (inputs) {
    const entries = inputs as readonly { readonly content: readonly Part[] }[];
    return entriesIn(
      entries.map(({ content }) => content.map((part) => partIn(part.text, part.image_url?.url))),
    );
  }
  if (!images) return textsIn(texts);
  if (purpose !== "image") throw new Error("images need the input_type image");
  return entriesIn((images as readonly string[]).map((url) => [partIn(undefined, url)]));
}

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, "https://api.cohere.com/v2/embed");
  expectOnly(
    body,
    words("model texts inputs images input_type embedding_types output_dimension truncate"),
  );
  expectModel(body, target);
  if (typeof body.input_type !== "string")
    throw new Error("valid input_type must be provided with the provided model");
  const [type, ...otherTypes] = body.embedding_types as unknown[];
  const { outputType } = outputTypeIn(type);
  if (otherTypes.length > 0 || (!outputType && type !== "base64")) throw new Error("no such type");
  if (body.truncate !== "NONE") throw new Error("a long text would be cut");
  return {
    input: inputIn(body),
    encoding: outputType ? "float" : "base64",
    ...(outputType && { outputType }),
    ...lengthIn(body.output_dimension),
    ...purposeIn(body.input_type),
  };
};

const errorBody = (message: string): string =>
  JSON.stringify({ id: "7e2f3c1a-5d0b-4b1e-9b0a-2f9c6f1d8e77", message });

const caseOf = (name: string, target: Target): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors, tokens) => ({
    body: JSON.stringify({
      id: "da6e531f-54c5-4a73-bf92-f60566d8d753",
      embeddings: { base64: vectors.map(packed) },
      texts: vectors.map((_, at) => `text ${at}`),
      meta: {
        api_version: { version: "2" },
        ...(tokens !== undefined && { billed_units: { input_tokens: tokens } }),
      },
      response_type: "embeddings_by_type",
    }),
  }),
  quantized: (vectors, type) => ({
    body: JSON.stringify({
      id: "da6e531f-54c5-4a73-bf92-f60566d8d753",
      embeddings: { [type]: vectors.map((vector) => [...vector]) },
      response_type: "embeddings_by_type",
    }),
  }),
  tellsUsage: true,
  refusals: refusalsOf([
    ["upstream_credentials", 401, errorBody("invalid api token")],
    [
      "insufficient_quota",
      402,
      errorBody("Please add or update your payment method at https://dashboard.cohere.com"),
    ],
    [
      "model_not_found",
      404,
      errorBody(
        `model '${target.model}' not found, make sure the correct model ID was used and that you have access to the model.`,
      ),
    ],
    ["upstream_error", 404, "404 page not found"],
    [
      "upstream_rejected",
      400,
      errorBody("invalid request: total number of texts must be at most 96 - received 104"),
    ],
    [
      "context_length_exceeded",
      400,
      errorBody("too many tokens: size limit exceeded by 11326 tokens. Try using shorter inputs."),
    ],
    [
      "upstream_rate_limit",
      429,
      errorBody(`You are using a Trial key (${key}), which is limited to 40 API calls / minute.`),
      { "retry-after": "12" },
    ],
    ["upstream_error", 500, errorBody("internal server error")],
    ["upstream_overloaded", 503, ""],
    ["upstream_timeout", 504, errorBody("timeout")],
  ]),
});

export const cohereCases: readonly VendorCase[] = [
  caseOf("cohere", targetOf("cohere", "embed-v4.0")),
  caseOf("cohere, embed-v5", targetOf("cohere", "embed-v5.0-pro")),
  caseOf("cohere, embed-v3", targetOf("cohere", "embed-multilingual-v3.0")),
  caseOf(
    "cohere, by an address with a version",
    targetOf("cohere", "embed-v4.0", { baseUrl: "https://api.cohere.com/v2" }),
  ),
];
