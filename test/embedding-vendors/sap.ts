/**
 * SAP's generative AI hub: https://help.sap.com/docs/sap-ai-core/generative-ai/embeddings, and its clients' sources.
 */
import { lengthIn, purposeIn, textsIn } from "./bearer-case.ts";
import { targetWithoutKey } from "./exchanged-case.ts";
import type { VendorCase } from "./vendor-case.ts";
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
    refusals: [
      { status: 401, body: "Jwt verification fails", error: "upstream_credentials" },
      { status: 403, body: "RBAC: access denied", error: "upstream_forbidden" },
      {
        status: 400,
        body: errorBody(400, `400 - Embedding Module: Model ${model} not supported.`),
        error: "model_not_found",
      },
      {
        status: 400,
        body: errorBody(400, "Input text exceeds the context length."),
        error: "upstream_rejected",
      },
      { status: 404, body: "", error: "upstream_error" },
      { status: 429, body: errorBody(429, "Too many requests."), error: "upstream_rate_limit" },
      { status: 500, body: errorBody(500, "Internal server error."), error: "upstream_error" },
      { status: 503, body: "no healthy upstream", error: "upstream_overloaded" },
    ],
  };
};

export const sapCases: readonly VendorCase[] = [
  caseOf("text-embedding-3-small"),
  caseOf("amazon--titan-embed-text"),
];
