/** Authentication and error responses of Amazon Bedrock. */
import { createHash } from "node:crypto";
import { signatureHeaders } from "../../../server/upstream/adapters/amazon/sigv4.ts";
import type { FakeVendor, VendorRequest, VendorResponse } from "../image-vendor.ts";

export const region = "us-west-2";
export const key = "bedrock-api-key-9876543210fedcba";
export const account = "471147114711";

export const signer = {
  accessKeyId: "AKIAVEXEL99999999999",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/vexelpictures",
} as const;

export const refusal = (status: number, type: string, message: string): VendorResponse => ({
  status,
  headers: { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
  body: { message },
});

export const invalid = (message: string): VendorResponse =>
  refusal(400, "ValidationException", message);

/** Fields that are not in the model's schema, as a Bedrock error. */
export function known(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw invalid("Malformed input request");
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  throw invalid(
    `Malformed input request: #: extraneous key [${unknown}] is not permitted, please reformat your input and try again.`,
  );
}

/** Checks the path and the credentials: a signature over the whole body, or with a Bedrock API key. */
export function checkRequest(request: VendorRequest, model: string, signed: boolean): void {
  const { method, path, headers } = request;
  if (signed) checkSignature(request);
  else if (headers.get("authorization") !== `Bearer ${key}`) {
    throw refusal(
      403,
      "AccessDeniedException",
      "Authentication failed: Please make sure your API Key is valid.",
    );
  }
  if (headers.get("content-type") !== "application/json") throw invalid("not JSON");
  if (method === "POST" && path === `/model/${encodeURIComponent(model)}/invoke`) return;
  throw invalid("The provided model identifier is invalid.");
}

function checkSignature({ method, path, origin, headers, body }: VendorRequest): void {
  const time = headers.get("x-amz-date") ?? "";
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? [];
  const [year, month = 1, day, hour, minute, second] = parts.map(Number);
  const expected = signatureHeaders(
    {
      method,
      url: `${origin}${path}`,
      headers: { "content-type": headers.get("content-type") ?? "" },
      body: "",
      bodyHash: createHash("sha256").update(body).digest("hex"),
    },
    { ...signer, region, service: "bedrock" },
    Date.UTC(year ?? 0, month - 1, day, hour, minute, second),
  );
  if (headers.get("authorization") === expected.authorization) return;
  throw refusal(
    403,
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
  );
}

export const imagesIn = (value: unknown): Uint8Array => {
  const bytes = Buffer.from(String(value), "base64");
  if (bytes.length > 0 && bytes.toString("base64") === value) return bytes;
  throw invalid("Malformed input request: an image is not base64");
};

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html, Errors. */
export const refusals: FakeVendor["refusals"] = [
  {
    kind: "upstream_credentials",
    ...refusal(
      403,
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
    ),
  },
  {
    kind: "upstream_forbidden",
    ...refusal(
      403,
      "AccessDeniedException",
      `User: arn:aws:iam::${account}:user/vexel is not authorized to perform: bedrock:InvokeModel`,
    ),
  },
  {
    kind: "model_not_found",
    ...refusal(
      404,
      "ResourceNotFoundException",
      "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
    ),
  },
  {
    kind: "model_not_found",
    ...invalid("The provided model identifier is invalid."),
  },
  {
    kind: "upstream_rejected",
    ...invalid(
      `Malformed input request: #/cfgScale: 11 is not less or equal to 10 (arn:aws:bedrock:${region}:${account}:x), please reformat your input and try again.`,
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "ThrottlingException", "Too many requests, please wait before trying again."),
  },
  {
    kind: "upstream_overloaded",
    ...refusal(503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
  },
  {
    kind: "upstream_timeout",
    ...refusal(408, "ModelTimeoutException", "Model has timed out in processing the request."),
  },
  {
    kind: "upstream_error",
    ...refusal(424, "ModelErrorException", "The system encountered an unexpected error."),
  },
];
