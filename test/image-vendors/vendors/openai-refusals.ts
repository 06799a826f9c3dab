/** How OpenAI says no to a picture, in its own words, and how those say it that imitate it. */
import type { PictureVendor, VendorResponse } from "../image-vendor.ts";

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

/** Words as reported by users of the API, or as in its specification. */
export const openaiRefusals = (model: string): PictureVendor["refusals"] => [
  {
    fault: "upstream_credentials",
    ...refusal(
      401,
      invalid,
      "invalid_api_key",
      "Incorrect API key provided: sk-opena****8877. You can find your API key at https://platform.openai.com/account/api-keys.",
    ),
  },
  {
    fault: "model_not_found",
    ...refusal(
      404,
      invalid,
      "model_not_found",
      `The model \`${model}\` does not exist or you do not have access to it.`,
    ),
  },
  {
    fault: "upstream_forbidden",
    ...refusal(
      403,
      invalid,
      null,
      `Your organization must be verified to use the model \`${model}\`. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.`,
    ),
  },
  {
    fault: "upstream_rate_limit",
    ...refusal(
      429,
      "requests",
      "rate_limit_exceeded",
      `Rate limit reached for ${model} in organization org-fakeFAKEfakeFAKE on images per min: Limit 5, Used 5, Requested 1. Please try again in 12s. Visit https://platform.openai.com/account/rate-limits to learn more.`,
      { wait: "12" },
    ),
  },
  {
    fault: "slow_down",
    ...refusal(
      429,
      "rate_limit_error",
      "slow_down",
      "Your request rate increased too quickly. Please reduce the request rate and gradually increase it again.",
      { wait: "3" },
    ),
  },
  {
    fault: "insufficient_quota",
    ...refusal(
      429,
      "insufficient_quota",
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
  },
  {
    fault: "billing_hard_limit_reached",
    ...refusal(400, invalid, "billing_hard_limit_reached", "Billing hard limit has been reached"),
  },
  {
    fault: "moderation_blocked",
    ...refusal(
      400,
      "image_generation_user_error",
      "moderation_blocked",
      "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_0123. safety_violations=[violence].",
      { extra: { moderation_details: { moderation_stage: "output", categories: ["violence"] } } },
    ),
  },
  {
    fault: "upstream_rejected",
    ...refusal(
      400,
      invalid,
      "invalid_value",
      "Invalid value: 'standard'. Supported values are: 'low', 'medium', 'high', and 'auto'.",
      { param: "quality" },
    ),
  },
  {
    fault: "upstream_overloaded",
    ...refusal(
      503,
      "service_unavailable_error",
      "server_is_overloaded",
      "The model is temporarily overloaded. Please retry your request after a brief delay.",
      { wait: "2" },
    ),
  },
  {
    fault: "upstream_error",
    // OpenAI and Azure charge for what they deliver, and this is in their own words.
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
export const imitationRefusals: PictureVendor["refusals"] = [
  { fault: "upstream_credentials", status: 401, body: { detail: "Invalid token" } },
  {
    fault: "upstream_rejected",
    status: 422,
    body: { detail: [{ loc: ["body", "prompt"], msg: "field required", type: "missing" }] },
  },
  {
    fault: "model_not_found",
    ...refusal(404, "NotFoundError", "model_not_found", "The model does not exist."),
  },
  { fault: "insufficient_quota", status: 402, body: { error: "Payment required" } },
  {
    fault: "upstream_rate_limit",
    status: 429,
    headers: { "retry-after": "7" },
    body: { error: { message: "Too many requests" } },
  },
  {
    fault: "upstream_error",
    status: 502,
    headers: { "content-type": "text/html" },
    body: "<html><head><title>502 Bad Gateway</title></head></html>",
  },
  { fault: "upstream_overloaded", status: 503, body: "no healthy upstream" },
];
