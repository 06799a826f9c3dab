/** Error responses of OpenAI to image requests, and those of compatible servers. */
import type { FakeVendor, VendorResponse } from "../image-vendor.ts";

const refusal = (
  status: number,
  type: string,
  code: string | null,
  message: string,
  more: { readonly param?: string; readonly extra?: object; readonly wait?: string } = {},
): VendorResponse => ({
  status,
  ...(more.wait !== undefined && { headers: { "retry-after": more.wait } }),
  body: { error: { message, type, param: more.param ?? null, code, ...more.extra } },
});

const invalid = "invalid_request_error";

/** Messages as reported by users of the API, or as in its specification. */
export const openaiRefusals = (model: string): FakeVendor["refusals"] => [
  {
    kind: "upstream_credentials",
    ...refusal(
      401,
      invalid,
      "invalid_api_key",
      "Incorrect API key provided: sk-opena****8877. You can find your API key at https://platform.openai.com/account/api-keys.",
    ),
  },
  {
    kind: "model_not_found",
    ...refusal(
      404,
      invalid,
      "model_not_found",
      `The model \`${model}\` does not exist or you do not have access to it.`,
    ),
  },
  {
    kind: "upstream_forbidden",
    ...refusal(
      403,
      invalid,
      null,
      `Your organization must be verified to use the model \`${model}\`. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.`,
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(
      429,
      "requests",
      "rate_limit_exceeded",
      `Rate limit reached for ${model} in organization org-fakeFAKEfakeFAKE on images per min: Limit 5, Used 5, Requested 1. Please try again in 12s. Visit https://platform.openai.com/account/rate-limits to learn more.`,
      { wait: "12" },
    ),
  },
  {
    kind: "slow_down",
    ...refusal(
      429,
      "rate_limit_error",
      "slow_down",
      "Your request rate increased too quickly. Please reduce the request rate and gradually increase it again.",
      { wait: "3" },
    ),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      429,
      "insufficient_quota",
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
  },
  {
    kind: "billing_hard_limit_reached",
    ...refusal(400, invalid, "billing_hard_limit_reached", "Billing hard limit has been reached"),
  },
  {
    kind: "moderation_blocked",
    ...refusal(
      400,
      "image_generation_user_error",
      "moderation_blocked",
      "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_0123. safety_violations=[violence].",
      { extra: { moderation_details: { moderation_stage: "output", categories: ["violence"] } } },
    ),
  },
  {
    kind: "upstream_rejected",
    ...refusal(
      400,
      invalid,
      "invalid_value",
      "Invalid value: 'standard'. Supported values are: 'low', 'medium', 'high', and 'auto'.",
      { param: "quality" },
    ),
  },
  {
    kind: "upstream_overloaded",
    ...refusal(
      503,
      "service_unavailable_error",
      "server_is_overloaded",
      "The model is temporarily overloaded. Please retry your request after a brief delay.",
      { wait: "2" },
    ),
  },
  {
    kind: "upstream_error",
    // OpenAI and Azure charge only for delivered images, and this is their own error.
    uncharged: true,
    ...refusal(
      500,
      "server_error",
      "server_error",
      "The server had an error while processing your request. Sorry about that!",
    ),
  },
];

/** FastAPI's way, nginx's way, and OpenAI's without a code. */
export const imitationRefusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", status: 401, body: { detail: "Invalid token" } },
  {
    kind: "upstream_rejected",
    status: 422,
    body: { detail: [{ loc: ["body", "prompt"], msg: "field required", type: "missing" }] },
  },
  {
    kind: "model_not_found",
    ...refusal(404, "NotFoundError", "model_not_found", "The model does not exist."),
  },
  { kind: "insufficient_quota", status: 402, body: { error: "Payment required" } },
  {
    kind: "upstream_rate_limit",
    status: 429,
    headers: { "retry-after": "7" },
    body: { error: { message: "Too many requests" } },
  },
  {
    kind: "upstream_error",
    status: 502,
    headers: { "content-type": "text/html" },
    body: "<html><head><title>502 Bad Gateway</title></head></html>",
  },
  { kind: "upstream_overloaded", status: 503, body: "no healthy upstream" },
];
