/** TwelveLabs: twelvelabs 1.3.6 (embed/v_2/raw_client.py), errors of docs.twelvelabs.io/api-reference/error-codes. */
import { words } from "../words.ts";
import { key, lengthIn, targetOf } from "./bearer-case.ts";
import { refusalsOf, type Understood, type VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const inputOf = (value: unknown): Understood["input"] => {
  const { input_text: text } = (value ?? {}) as { input_text?: unknown };
  if (typeof text !== "string") throw new Error("input_text is missing");
  return { kind: "text", texts: [text] };
};

const readers: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => Understood>> = {
  "marengo3.5": (body) => {
    const fields = words("input_type model_name multi_input embedding_dimension auto_truncate");
    expectOnly(body, [...fields, "embedding_uncertainty"]);
    if (body.input_type !== "multi_input") throw new Error("input_type must be multi_input");
    if (body.auto_truncate !== false) throw new Error("a long text would be cut");
    const { embedding_dimension: dimensions, multi_input: input } = body;
    return { input: inputOf(input), encoding: "float", ...lengthIn(dimensions) };
  },
  "marengo3.0": (body) => {
    expectOnly(body, ["input_type", "model_name", "text"]);
    if (body.input_type !== "text") throw new Error("input_type must be text");
    return { input: inputOf(body.text), encoding: "float" };
  },
};

const understand: VendorCase["understand"] = (request, { model }) => {
  expectUrl(request, "https://api.twelvelabs.io/v1.3/embed-v2");
  expectHeader(request, "x-api-key", key);
  const body = readBody(request);
  if (body.model_name !== model) throw new Error("there is no such model");
  const read = readers[model];
  if (!read) throw new Error("there is no such model");
  return read(body);
};

const errorBody = (code: string, message: string): string => JSON.stringify({ code, message });

const caseOf = (model: string, tellsUsage: boolean): VendorCase => ({
  name: `twelvelabs, ${model}`,
  target: targetOf("twelvelabs", model),
  understand,
  response: (vectors, tokens) => {
    const data = vectors.map(
      (vector) =>
        `{"embedding":${writeFloats(vector)},"embedding_option":null,"embedding_scope":null}`,
    );
    const usage =
      tokens === undefined || !tellsUsage
        ? ""
        : `,"usage":{"input_tokens":{"text":${tokens}},"truncated":false}`;
    return { body: `{"data":[${data.join(",")}]${usage}}` };
  },
  tellsUsage,
  refusals: refusalsOf([
    ["upstream_credentials", 401, errorBody("api_key_invalid", "Your API key is invalid.")],
    ["upstream_forbidden", 403, errorBody("usage_limit_exceeded", "You have no access.")],
    [
      "model_not_found",
      400,
      errorBody("parameter_invalid", "The model_name parameter is invalid. Choose marengo3.5."),
    ],
    [
      "context_length_exceeded",
      400,
      errorBody("text_too_long", "The text exceeds the maximum of 2000 tokens."),
    ],
    [
      "upstream_rate_limit",
      429,
      errorBody("too_many_requests", "You have reached the rate limit, try again at 12:00."),
    ],
    ["upstream_error", 500, errorBody("internal_server_error", "Something went wrong.")],
    ["upstream_overloaded", 503, ""],
  ]),
});

export const twelvelabsCases: readonly VendorCase[] = [
  caseOf("marengo3.5", true),
  caseOf("marengo3.0", false),
];
