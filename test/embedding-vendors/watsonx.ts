/** IBM watsonx.ai: https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings, refusals as recorded in public reports. */
import type { Target } from "../../server/upstream/contract.ts";
import { textsIn } from "./bearer-case.ts";
import { targetWithoutKey } from "./exchanged-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const root = "https://us-south.ml.cloud.ibm.com";
/** Short: it is in every upstream request, which the laws search for longer names of the operator. */
const projectId = "12ac4";

const understand: VendorCase["understand"] = (request, target) => {
  expectUrl(request, `${root}/ml/v1/text/embeddings?version=2024-05-31`);
  const body = readBody(request);
  expectOnly(body, ["model_id", "inputs", "project_id", "space_id", "parameters"]);
  if (body.model_id !== target.model) throw new Error("there is no such model");
  const { projectId, spaceId } = target.upstream.options;
  if (body.project_id !== projectId || body.space_id !== spaceId)
    throw new Error("either space_id or project_id has to be given");
  if (JSON.stringify(body.parameters)?.includes("truncate_input_tokens"))
    throw new Error("a long text would be cut");
  return { input: textsIn(body.inputs), encoding: "float" };
};

const errorBody = (status: number, code: string, message: string): string =>
  JSON.stringify({
    errors: [{ code, message, more_info: "https://cloud.ibm.com/apidocs/watsonx-ai" }],
    trace: "85527f4d559b71672661bd561a6768fe",
    status_code: status,
  });

const caseOf = (name: string, target: Target): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors, tokens) => {
    const results = vectors.map((vector) => `{"embedding":${writeFloats(vector)}}`).join(",");
    const count = tokens === undefined ? "" : `,"input_token_count":${tokens}`;
    const head = `"model_id":"${target.model}","created_at":"2024-02-21T17:32:28Z"`;
    return { body: `{${head},"results":[${results}]${count}}` };
  },
  tellsUsage: true,
  refusals: refusalsOf([
    [
      "upstream_credentials",
      401,
      errorBody(
        401,
        "authentication_token_expired",
        "Failed to authenticate the request due to an expired token",
      ),
    ],
    [
      "context_length_exceeded",
      400,
      errorBody(
        400,
        "invalid_input_argument",
        `Invalid input argument for Model '${target.model}': Token sequence length is longer than the specified maximum sequence length for this model (1336 > 512).`,
      ),
    ],
    [
      "model_not_found",
      404,
      errorBody(404, "model_not_supported", `Model '${target.model}' is not supported`),
    ],
    [
      "insufficient_quota",
      403,
      errorBody(
        403,
        "token_quota_reached",
        `The token quota of the project ${projectId} has been reached`,
      ),
    ],
    [
      "upstream_forbidden",
      403,
      errorBody(403, "no_associated_service_instance_error", "No WML instance in the project"),
    ],
    [
      "upstream_rate_limit",
      429,
      errorBody(429, "downstream_request_limit_reached", "Too many requests"),
    ],
    ["upstream_error", 500, errorBody(500, "internal_error", "oops")],
    ["upstream_overloaded", 503, ""],
  ]),
});

const model = "ibm/granite-embedding-278m-multilingual";

export const watsonxCases: readonly VendorCase[] = [
  caseOf("watsonx", targetWithoutKey("watsonx", model, { baseUrl: root, options: { projectId } })),
  caseOf(
    "watsonx, in a space",
    targetWithoutKey("watsonx", model, {
      baseUrl: root,
      options: { spaceId: "3fc54" },
    }),
  ),
];
