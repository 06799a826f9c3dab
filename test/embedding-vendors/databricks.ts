/** Databricks: https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference. */
import type { Target } from "../../server/upstream/contract.ts";
import { key, targetOf, textsIn } from "./bearer-case.ts";
import { targetWithoutKey } from "./exchanged-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const root = "https://dbc-a1b2345c-d6e7.cloud.databricks.com";

const understand: VendorCase["understand"] = (request, { model, upstream }) => {
  expectUrl(request, `${root}/serving-endpoints/${model}/invocations`);
  if (upstream.options.clientId === undefined)
    expectHeader(request, "authorization", `Bearer ${key}`);
  const body = readBody(request);
  expectOnly(body, ["input", "instruction"]);
  return { input: textsIn(body.input), encoding: "float" };
};

const errorBody = (error_code: string, message: string): string =>
  JSON.stringify({ error_code, message });

const caseOf = (name: string, target: Target): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors, tokens) => {
    const data = vectors.map(
      (vector, index) =>
        `{"index":${index},"object":"embedding","embedding":${writeFloats(vector)}}`,
    );
    const usage =
      tokens === undefined ? "" : `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
    const head = '"id":"6d6f8f3c-c3f5-4d2f-9a0c-1d8b0d2a5c11","object":"list","model":"gte-large"';
    return { body: `{${head},"data":[${data.join(",")}]${usage}}` };
  },
  tellsUsage: true,
  refusals: refusalsOf([
    [
      "upstream_credentials",
      401,
      errorBody("401", "Credential was not sent or was of an unsupported type for this API."),
    ],
    ["upstream_credentials", 403, errorBody("403", "Invalid access token.")],
    [
      "upstream_forbidden",
      403,
      errorBody("PERMISSION_DENIED", "You do not have permission to query this endpoint."),
    ],
    [
      "model_not_found",
      404,
      errorBody("RESOURCE_DOES_NOT_EXIST", "The given endpoint does not exist, please retry."),
    ],
    [
      "upstream_rejected",
      400,
      errorBody(
        "BAD_REQUEST",
        `Input embeddings size is too large, exceeding 150 limit for ${target.model}`,
      ),
    ],
    [
      "upstream_rate_limit",
      429,
      errorBody("REQUEST_LIMIT_EXCEEDED", "Exceeded workspace rate limit for this endpoint."),
    ],
    ["upstream_error", 500, errorBody("INTERNAL_ERROR", "Something went wrong")],
    [
      "upstream_overloaded",
      503,
      errorBody("TEMPORARILY_UNAVAILABLE", "The service is taking too long."),
    ],
  ]),
});

const model = "databricks-gte-large-en";

export const databricksCases: readonly VendorCase[] = [
  caseOf("databricks", targetOf("databricks", model, { baseUrl: root })),
  caseOf(
    "databricks, as a service principal",
    targetWithoutKey("databricks", model, {
      baseUrl: `${root}/serving-endpoints`,
      options: { clientId: "6128a518-99a9-425b-8333-4cc94f04cacd" },
    }),
  ),
];
