/** Azure OpenAI: OpenAI's endpoints under two kinds of path, with the key in Azure's own header. */
import type { FakeVendor, VendorRequest, VendorResponse } from "../image-vendor.ts";
import { edits, generations } from "./openai-server.ts";

const key = "azure-9d8c7b6a5f4e3d2c1b0a";
const apiVersion = "2025-04-01-preview";
const model = "gpt-image-1.5";

/** As the documentation's examples have it. */
const no = (status: number, code: string, message: string, more: object = {}): VendorResponse => ({
  status,
  body: { error: { code, message, ...more } },
});

/** Translates Azure's key header to OpenAI's. */
function authorize(request: VendorRequest): VendorRequest {
  if (request.headers.get("api-key") !== key) {
    throw no(
      401,
      "401",
      "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
    );
  }
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${key}`);
  return { ...request, headers };
}

const open =
  (root: string, query: string): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const [path = "", search = ""] = request.path.split("?");
    const dialect = { strict: true, key };
    if (request.method === "POST" && search === query) {
      if (path === `${root}/images/generations`)
        return generations(authorize(request), generator, dialect);
      if (path === `${root}/images/edits`) return edits(authorize(request), generator, dialect);
    }
    throw no(404, "404", "Resource not found");
  };

/** learn.microsoft.com/azure/ai-foundry/openai: how-to/dall-e and its troubleshooting; openai/openai-python#2608. */
const refusals: FakeVendor["refusals"] = [
  {
    kind: "upstream_credentials",
    ...no(401, "401", "Access denied due to invalid subscription key or wrong API endpoint."),
  },
  {
    kind: "model_not_found",
    ...no(
      404,
      "DeploymentNotFound",
      "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...no(
      429,
      "429",
      "Requests to the ImageGenerations_Create Operation under Azure OpenAI API have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 12 seconds.",
    ),
    headers: { "retry-after": "12" },
  },
  {
    kind: "moderation_blocked",
    ...no(400, "contentFilter", "Your task failed as a result of our safety system.", {
      inner_error: { code: "ResponsibleAIPolicyViolation" },
    }),
  },
  { kind: "upstream_overloaded", ...no(503, "503", "The service is temporarily unavailable.") },
];

const options = {
  kind: "azure",
  model,
  operations: ["generations", "edits"],
  source:
    "MicrosoftDocs/azure-ai-docs, foundry/openai/how-to/dall-e.md, and OpenAI's specification",
  refusals,
} as const;

export const azure: readonly FakeVendor[] = [
  { ...options, name: "azure-v1", config: { apiKey: key }, open: open("/openai/v1", "") },
  {
    ...options,
    name: "azure-deployment",
    config: { apiKey: key, apiVersion },
    open: open(`/openai/deployments/${model}`, `api-version=${apiVersion}`),
  },
];
