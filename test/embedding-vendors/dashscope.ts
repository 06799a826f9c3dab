/** Alibaba's Model Studio: https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { bodyAt, expectModel, key, lengthIn, purposeIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type Understood, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const path = "/services/embeddings/text-embedding/text-embedding";

function understand(request: UpstreamRequest, target: Target, root: string): Understood {
  const body = bodyAt(request, `${root}${path}`);
  expectOnly(body, ["model", "input", "parameters"]);
  expectModel(body, target);
  const { input, parameters } = body as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  expectOnly(parameters ?? {}, ["dimension", "text_type", "output_type", "instruct"]);
  return {
    input: textsIn(input?.texts),
    encoding: "float",
    ...lengthIn(parameters?.dimension),
    ...purposeIn(parameters?.text_type),
  };
}

const errorBody = (code: string, message: string): string =>
  JSON.stringify({ code, message, request_id: "fb53c4ec-1c12-4fc4-a580-cdb7c3261fc1" });

/** https://www.alibabacloud.com/help/en/model-studio/error-code */
const refusals: VendorCase["refusals"] = refusalsOf([
  ["upstream_credentials", 401, errorBody("InvalidApiKey", `Invalid API-key provided: ${key}.`)],
  [
    "upstream_rejected",
    400,
    errorBody(
      "InvalidParameter",
      "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents",
    ),
  ],
  [
    "context_length_exceeded",
    400,
    errorBody("InvalidParameter", "Range of input length should be [1, 8192]"),
  ],
  [
    "insufficient_quota",
    400,
    errorBody(
      "Arrearage",
      "Access denied, please make sure your account is in good standing. For details, see: https://help.aliyun.com",
    ),
  ],
  [
    "insufficient_quota",
    403,
    errorBody(
      "AllocationQuota.FreeTierOnly",
      "The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the “use free tier only” mode.",
    ),
  ],
  [
    "upstream_forbidden",
    403,
    errorBody("AccessDenied", "Current user api does not support synchronous calls."),
  ],
  ["model_not_found", 404, errorBody("ModelNotFound", "Model can not be found.")],
  [
    "upstream_rate_limit",
    429,
    errorBody("Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
  ],
  [
    "insufficient_quota",
    429,
    errorBody("Throttling.AllocationQuota", "Free allocated quota exceeded."),
  ],
  [
    "upstream_error",
    500,
    errorBody("InternalError", "An internal error has occurred, please try again later."),
  ],
  [
    "upstream_overloaded",
    503,
    errorBody("ModelUnavailable", "Model is unavailable, please try again later."),
  ],
]);

const caseOf = (name: string, target: Target, root: string): VendorCase => ({
  name,
  target,
  understand: (request) => understand(request, target, root),
  response: (vectors, tokens) => {
    // In another order than the request: each has the index of its text.
    const entries = vectors
      .map((vector, at) => `{"embedding":${writeFloats(vector)},"text_index":${at}}`)
      .toReversed();
    const usage = tokens === undefined ? "" : `,"usage":{"total_tokens":${tokens}}`;
    const id = '"request_id":"7574ee8f-38a3-4b1e-9280-11c33ab46e51"';
    return { body: `{"output":{"embeddings":[${entries.join(",")}]}${usage},${id}}` };
  },
  tellsUsage: true,
  refusals,
});

/** https://www.alibabacloud.com/help/en/model-studio/multimodal-embedding-api-reference */
function multimodalCase(model: string): VendorCase {
  const target = targetOf("dashscope", model);
  return {
    ...caseOf(`dashscope, ${model}`, target, singapore),
    understand: (request) => {
      const url = `${singapore}/services/embeddings/multimodal-embedding/multimodal-embedding`;
      const { input, parameters, ...others } = bodyAt(request, url);
      expectOnly(others, ["model"]);
      expectModel(others, target);
      const { contents } = input as { contents: readonly { text: string }[] };
      for (const content of contents) expectOnly(content, ["text"]);
      const { dimension, ...unknown } = parameters as Readonly<Record<string, unknown>>;
      expectOnly(unknown, []);
      const texts = contents.map(({ text }) => text);
      return { input: { kind: "text", texts }, encoding: "float", ...lengthIn(dimension) };
    },
    response: (vectors, tokens) => {
      const entries = vectors
        .map((vector, at) => `{"index":${at},"embedding":${writeFloats(vector)},"type":"text"}`)
        .toReversed();
      const usage = tokens === undefined ? "" : `,"usage":{"input_tokens":${tokens}}`;
      return { body: `{"output":{"embeddings":[${entries.join(",")}]}${usage},"request_id":"0"}` };
    },
  };
}

const singapore = "https://dashscope-intl.aliyuncs.com/api/v1";
const beijing = "https://dashscope.aliyuncs.com";

export const dashscopeCases: readonly VendorCase[] = [
  caseOf("dashscope", targetOf("dashscope", "text-embedding-v4"), singapore),
  caseOf("dashscope, a model of one length", targetOf("dashscope", "text-embedding-v2"), singapore),
  caseOf(
    "dashscope, by the other surface's address",
    targetOf("dashscope", "text-embedding-v3", { baseUrl: `${beijing}/compatible-mode/v1` }),
    `${beijing}/api/v1`,
  ),
  ...[
    "qwen3-vl-embedding",
    "qwen2.5-vl-embedding",
    "tongyi-embedding-vision-plus",
    "tongyi-embedding-vision-flash-2026-03-06",
  ].map(multimodalCase),
];
