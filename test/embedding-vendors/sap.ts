/**
 * SAP's generative AI hub: https://help.sap.com/docs/sap-ai-core/generative-ai/embeddings, and its clients' sources.
 */
import { lengthIn, purposeIn, textsIn } from "./bearer-case.ts";
import { targetWithoutKey } from "./exchanged-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const root =
  "https://api.ai.prod.eu-central-1.aws.ml.hana.ondemand.com/v2/inference/deployments/d0";

interface OrchestrationRequest {
  readonly config: {
    readonly modules: {
      readonly embeddings: { readonly model: { name: string; params: Record<string, unknown> } };
    };
  };
  readonly input: { readonly text: unknown; readonly type?: unknown };
}

const understand: VendorCase["understand"] = (request, target) => {
  expectUrl(request, `${root}/v2/embeddings`);
  expectHeader(request, "ai-resource-group", "otters");
  const body = readBody(request);
  expectOnly(body, ["config", "input"]);
  const { config, input } = body as unknown as OrchestrationRequest;
  const { name, params } = config.modules.embeddings.model;
  if (name !== target.model) throw new Error("there is no such model");
  expectOnly(params, ["dimensions", "encoding_format", "normalize"]);
  return {
    input: textsIn(input.text),
    encoding: "float",
    ...lengthIn(params.dimensions),
    ...purposeIn(input.type),
  };
};

const errorBody = (code: number, message: string): string =>
  JSON.stringify({
    request_id: "a1b2c3d4-0000-4000-8000-000000000000",
    code,
    message,
    location: "Embedding module",
  });

const caseOf = (model: string): VendorCase => {
  const options = {
    authUrl: "https://otters.authentication.eu10.hana.ondemand.com",
    clientId: "sb-0123456789!b1|aicore!b2",
    resourceGroup: "otters",
  };
  const target = targetWithoutKey("sap", model, { baseUrl: root, options });
  return {
    name: `sap, ${model}`,
    target,
    understand,
    response: (vectors, tokens) => {
      const data = vectors.map(
        (vector, index) =>
          `{"object":"embedding","embedding":${writeFloats(vector)},"index":${index}}`,
      );
      const usage =
        tokens === undefined ? "" : `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
      const inner = `{"object":"list","data":[${data.join(",")}],"model":"${model}"${usage}}`;
      return { body: `{"request_id":"a1b2","final_result":${inner}}` };
    },
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, "Jwt verification fails"],
      ["upstream_forbidden", 403, "RBAC: access denied"],
      [
        "model_not_found",
        400,
        errorBody(400, `400 - Embedding Module: Model ${model} not supported.`),
      ],
      ["context_length_exceeded", 400, errorBody(400, "Input text exceeds the context length.")],
      ["upstream_error", 404, ""],
      ["upstream_rate_limit", 429, errorBody(429, "Too many requests.")],
      ["upstream_error", 500, errorBody(500, "Internal server error.")],
      ["upstream_overloaded", 503, "no healthy upstream"],
    ]),
  };
};

export const sapCases: readonly VendorCase[] = [
  caseOf("text-embedding-3-small"),
  caseOf("amazon--titan-embed-text"),
];
