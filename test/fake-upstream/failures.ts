/** Failures that also a working API has at times, by name: `script({ fail: "rate-limit" })`. */

import { type FakeResponse, html, json } from "./fake-response.ts";
import type { FailureName } from "./injected-fault.ts";

const failure = (
  status: number,
  type: string,
  code: string | null,
  message: string,
  headers: Record<string, string> = {},
): FakeResponse => json({ error: { message, type, param: null, code } }, status, headers);

export const failures: Record<FailureName, FakeResponse> = {
  "rate-limit": failure(
    429,
    "tokens",
    "rate_limit_exceeded",
    "Rate limit reached for text-embedding-3-small in organization org-fake on tokens per min (TPM): Limit 1000000, Used 976163, Requested 70716. Please try again in 2.812s. Visit https://platform.openai.com/account/rate-limits to learn more.",
    {
      "x-ratelimit-limit-tokens": "1000000",
      "x-ratelimit-remaining-tokens": "23837",
      "x-ratelimit-reset-tokens": "2.812s",
    },
  ),
  "slow-down": failure(
    429,
    "rate_limit_error",
    "slow_down",
    "Your request rate increased too quickly. Please reduce the request rate and gradually increase it again.",
  ),
  quota: failure(
    429,
    "insufficient_quota",
    "insufficient_quota",
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
  ),
  billing: failure(
    400,
    "invalid_request_error",
    "billing_hard_limit_reached",
    "Billing hard limit has been reached",
  ),
  credentials: failure(
    401,
    "invalid_request_error",
    "invalid_api_key",
    "Incorrect API key provided: sk-v3s3w****bfcr. You can find your API key at https://platform.openai.com/account/api-keys.",
  ),
  forbidden: failure(
    403,
    "invalid_request_error",
    "model_not_found",
    "Project `proj_fake` does not have access to model `text-embedding-ada-002`",
  ),
  "server-error": failure(
    500,
    "server_error",
    "server_error",
    "An error occurred while processing your request. You can retry your request, or contact us through our help center at help.openai.com if the error persists. Please include the request ID req_fake in your message.",
  ),
  html: html(500, "500 Internal Server Error"),
  overloaded: failure(
    503,
    "service_unavailable_error",
    "server_is_overloaded",
    "The model is temporarily overloaded. Please retry your request after a brief delay.",
  ),
  "bad-gateway": html(502, "502 Bad Gateway"),
  "too-large": html(413, "413 Request Entity Too Large"),
  // Servers made with FastAPI respond without an `error` member.
  detail: json({ detail: "Not Found" }, 404),
};
