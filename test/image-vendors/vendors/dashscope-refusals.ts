/** Error responses of Alibaba's Model Studio: https://www.alibabacloud.com/help/en/model-studio/error-code. */
import type { FakeVendor, VendorResponse } from "../image-vendor.ts";

export const refusal = (status: number, code: string, message: string): VendorResponse => ({
  status,
  body: { code, message, request_id: "a4d78a5f-655f-9639-8437-0123456789ab" },
});

const invalid = (message: string): VendorResponse => refusal(400, "InvalidParameter", message);

export const dashscopeRefusals = (model: string): FakeVendor["refusals"] => [
  {
    kind: "upstream_credentials",
    ...refusal(401, "InvalidApiKey", "Invalid API-key provided."),
  },
  {
    kind: "model_not_found",
    ...refusal(404, "ModelNotFound", `The model ${model} does not exist.`),
  },
  { kind: "model_not_found", ...invalid("Model not exist.") },
  {
    kind: "moderation_blocked",
    ...refusal(
      400,
      "DataInspectionFailed",
      "Input or output data may contain inappropriate content.",
    ),
  },
  {
    kind: "moderation_blocked",
    ...refusal(
      400,
      "IPInfringementSuspect",
      "Input data is suspected of being involved in IP infringement.",
    ),
  },
  {
    kind: "upstream_rejected",
    ...invalid("The size is not match the allowed size ['1024*1024', '720*1280', '1280*720']"),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      400,
      "Arrearage",
      "Access denied, please make sure your account is in good standing.",
    ),
  },
  {
    kind: "upstream_forbidden",
    ...refusal(403, "AccessDenied.Unpurchased", "Access to model denied."),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(
      429,
      "Throttling.RateQuota",
      "Requests rate limit exceeded, please try again later.",
    ),
  },
  {
    kind: "upstream_error",
    ...refusal(500, "InternalError", "An internal error has occurred, please try again later."),
  },
  {
    kind: "upstream_overloaded",
    ...refusal(503, "ModelUnavailable", "Model is unavailable, please try again later."),
  },
  // Jobs that were accepted and then failed: the status is 200.
  {
    kind: "moderation_blocked",
    body: failed("DataInspectionFailed", "Output data may contain inappropriate content."),
  },
  {
    kind: "upstream_rejected",
    body: failed("InvalidParameter", "The size is not match the allowed size."),
  },
  {
    kind: "upstream_error",
    body: failed("InternalError.Timeout", "An internal timeout error has occurred."),
  },
];

function failed(code: string, message: string): object {
  return {
    request_id: "e5d70b02-ebd3-98ce-9fe8-759d7d7b107d",
    output: {
      task_id: "86ecf553-d340-4e21-af6e-a0c6a421c010",
      task_status: "FAILED",
      code,
      message,
      task_metrics: { TOTAL: 1, SUCCEEDED: 0, FAILED: 1 },
    },
  };
}
