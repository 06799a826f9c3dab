/** Google's error responses, as recorded: https://google.aip.dev/193 with the details of each. */
import type { VendorCase } from "./vendor-case.ts";

interface GoogleEndpoint {
  readonly host: string;
  readonly project: string;
}

const body = (code: number, status: string, message: string, details: readonly object[]): string =>
  JSON.stringify({ error: { code, message, status, details } });

const info = (reason: string, host: string): object => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "googleapis.com",
  metadata: { service: host },
});

export const googleRefusals = ({ host, project }: GoogleEndpoint): VendorCase["refusals"] => [
  {
    status: 400,
    body: body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
      info("API_KEY_INVALID", host),
    ]),
    error: "upstream_credentials",
  },
  {
    status: 401,
    body: body(
      401,
      "UNAUTHENTICATED",
      "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
      [info("ACCESS_TOKEN_TYPE_UNSUPPORTED", host)],
    ),
    error: "upstream_credentials",
  },
  {
    status: 403,
    body: body(
      403,
      "PERMISSION_DENIED",
      `Permission 'aiplatform.endpoints.predict' denied on resource '//${host}/projects/${project}/locations/us-central1' (or it may not exist).`,
      [info("IAM_PERMISSION_DENIED", host)],
    ),
    error: "upstream_forbidden",
  },
  {
    status: 403,
    body: body(403, "PERMISSION_DENIED", "Your API key was reported as leaked.", []),
    error: "upstream_credentials",
  },
  {
    status: 400,
    body: body(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", []),
    error: "upstream_forbidden",
  },
  {
    status: 404,
    body: body(
      404,
      "NOT_FOUND",
      `Publisher Model \`projects/${project}/locations/us-central1/publishers/google/models/x\` was not found.`,
      [],
    ),
    error: "model_not_found",
  },
  {
    status: 400,
    body: body(
      400,
      "INVALID_ARGUMENT",
      `Unable to submit request because it included too many instances in ${project}. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings: batchSize must be 1 but the entered value was 56.`,
      [],
    ),
    error: "upstream_rejected",
  },
  {
    status: 429,
    body: body(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details.",
      [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [{ quotaMetric: `${host}/embed_content_free_tier_requests` }],
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "31s" },
      ],
    ),
    error: "upstream_rate_limit",
  },
  {
    status: 503,
    body: body(503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    error: "upstream_overloaded",
  },
  { status: 502, body: "<!DOCTYPE html><title>Error 502</title>", error: "upstream_error" },
];
