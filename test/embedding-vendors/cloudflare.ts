/**
 * Workers AI: https://developers.cloudflare.com/workers-ai/models/bge-m3 and /workers-ai/platform/errors; codes that
 * are not documented there are made up.
 */
import { bodyAt, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const accountId = "023e105f4ecef8ad9ca31a8372d0c353";

const understand: VendorCase["understand"] = (request, { model }) => {
  const url = `https://api.cloudflare.com/client/v4/accounts/${accountId}/ai/run/${model}`;
  const body = bodyAt(request, url);
  if (model.includes("bge-m3")) {
    expectOnly(body, ["text", "truncate_inputs"]);
    if (body.truncate_inputs !== false) throw new Error("a long text would be cut");
    return { input: textsIn(body.text), encoding: "float" };
  }
  // Qwen has separate fields for texts, queries and documents; a request has one of them.
  expectOnly(body, ["text", "queries", "documents", "instruction"]);
  const [field, ...others] = ["text", "queries", "documents"].filter((name) => name in body);
  if (field === undefined || others.length > 0) throw new Error("one of three fields is wanted");
  return {
    input: textsIn(body[field]),
    encoding: "float",
    ...(field !== "text" && { taskType: field }),
  };
};

const failed = (code: number, message: string): string =>
  JSON.stringify({ result: null, success: false, errors: [{ code, message }], messages: [] });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("cloudflare", model, { options: { accountId } });
  return {
    name,
    target,
    understand,
    response: (vectors) => ({
      body: `{"result":{"shape":[${vectors.length},${vectors[0]?.length}],"data":[${vectors.map(writeFloats).join(",")}],"pooling":"cls"},"success":true,"errors":[],"messages":[]}`,
    }),
    tellsUsage: false,
    refusals: refusalsOf([
      ["upstream_credentials", 401, failed(10000, "Authentication error")],
      ["upstream_credentials", 400, failed(6003, "Invalid request headers")],
      ["model_not_found", 400, failed(5007, `No such model ${model} or task`)],
      ["model_not_found", 404, failed(3042, "The model name is invalid")],
      [
        "upstream_error",
        404,
        failed(
          7003,
          `Could not route to /client/v4/accounts/${accountId}/ai/run/${model}, perhaps your object identifier is invalid?`,
        ),
      ],
      [
        "upstream_rejected",
        400,
        failed(
          5006,
          `AiError: Bad input in accounts/${accountId}: Error: oneOf at '/' not met, 0 matches`,
        ),
      ],
      ["upstream_rejected", 413, failed(3006, "Request is too large")],
      ["upstream_forbidden", 403, failed(5018, "The account is not allowed to access this model")],
      ["upstream_timeout", 408, failed(3007, "Request timeout")],
      [
        "insufficient_quota",
        429,
        failed(
          3036,
          "You have used up your daily free allocation of 10,000 neurons. Please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.",
        ),
      ],
      ["upstream_overloaded", 429, failed(3040, "No more data centers to forward the request to")],
      [
        "upstream_rate_limit",
        429,
        failed(971, "Please wait and consider throttling your request speed"),
      ],
      ["upstream_error", 500, ""],
    ]),
  };
};

export const cloudflareCases: readonly VendorCase[] = [
  caseOf("cloudflare", "@cf/baai/bge-m3"),
  caseOf("cloudflare, qwen3-embedding", "@cf/qwen/qwen3-embedding-0.6b"),
];
