/** Fake of Stability AI: takes forms, responds with the image itself, with the seed in a header. */
import { type FakeVendor, rejectUnknownFields, type VendorResponse } from "../image-vendor.ts";
import { type ReadForm, readForm } from "./form-request.ts";

const key = "sk-stabilitystabilitystability0123456789";

const refusal = (status: number, name: string, ...errors: string[]): VendorResponse => ({
  status,
  body: { id: "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", name, errors },
});

const invalid = (...errors: string[]): VendorResponse => refusal(400, "bad_request", ...errors);
const wrongKey = refusal(
  401,
  "unauthorized",
  "missing or invalid authorization header: your api key should be in the authorization header",
);
const notFound = refusal(404, "not_found", "resource not found");

const common = ["prompt", "negative_prompt", "seed", "output_format"];

interface Service {
  readonly fields: readonly string[];
  readonly formats: readonly string[];
  /** Whether an image is required, optional or not accepted. */
  readonly image: "needed" | "allowed" | "none";
}

const all = ["png", "jpeg", "webp"];

/** https://platform.stability.ai/docs/api-reference, v2beta. */
const services: Readonly<Record<string, Service>> = {
  "generate/core": {
    fields: [...common, "aspect_ratio", "style_preset"],
    formats: all,
    image: "none",
  },
  "generate/ultra": {
    fields: [...common, "aspect_ratio", "style_preset", "image", "strength"],
    formats: all,
    image: "allowed",
  },
  "generate/sd3": {
    fields: [
      ...common,
      "aspect_ratio",
      "style_preset",
      "image",
      "strength",
      "mode",
      "model",
      "cfg_scale",
    ],
    formats: ["png", "jpeg"],
    image: "allowed",
  },
  "edit/inpaint": {
    fields: [...common, "image", "mask", "grow_mask", "style_preset"],
    formats: all,
    image: "needed",
  },
};

const open: FakeVendor["open"] = (generator) => async (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey;
  const name = /^\/v2beta\/stable-image\/(.+)$/.exec(path)?.[1] ?? "";
  const service = services[name];
  if (method !== "POST" || !service) throw notFound;
  if (headers.get("accept") !== "image/*")
    throw invalid("accept: must be one of image/*, application/json");
  if (!/^multipart\/form-data;/.test(headers.get("content-type") ?? "")) {
    throw invalid("content-type: must be multipart/form-data");
  }
  const form = await readForm(request);
  rejectUnknownFields(Object.fromEntries(form.names.map((field) => [field, true])), service.fields);
  const { texts } = form;
  const { prompt, aspect_ratio, output_format = "png" } = texts;
  if (prompt === undefined || prompt.length > 10_000) throw invalid("prompt: is required");
  if (!service.formats.includes(output_format)) {
    throw invalid(`output_format: must be one of ${service.formats.join(", ")}`);
  }
  if (
    aspect_ratio !== undefined &&
    !/^(21:9|16:9|3:2|5:4|1:1|4:5|2:3|9:16|9:21)$/.test(aspect_ratio)
  ) {
    throw invalid("aspect_ratio: must be one of 21:9, 16:9, 3:2, 5:4, 1:1, 4:5, 2:3, 9:16, 9:21");
  }
  const images = editSources(name, service, form);
  const [mask] = form.files("mask");
  const options = texts.output_format !== undefined && { options: { output_format } };
  const [image = new Uint8Array()] = await generator.generate(
    {
      prompt,
      n: 1,
      ...(aspect_ratio !== undefined && { aspect: aspect_ratio }),
      ...options,
      ...(images.length > 0 && { images }),
      ...(mask && { mask }),
    },
    output_format as "png" | "jpeg" | "webp",
  );
  return {
    headers: { "x-request-id": "0a1b2c3d", "finish-reason": "SUCCESS", seed: "343940597" },
    body: image,
  };
};

function editSources(name: string, { image }: Service, form: ReadForm): readonly Uint8Array[] {
  const images = form.files("image");
  const { mode = "text-to-image", strength, aspect_ratio, model } = form.texts;
  if (images.length > 1) throw invalid("image: must be one file");
  if (image === "needed" && images.length === 0) throw invalid("image: is required");
  if (
    image === "allowed" &&
    images.length === 1 &&
    !(Number(strength) >= 0 && Number(strength) <= 1)
  ) {
    throw invalid("strength: is required when image is provided");
  }
  if (name !== "generate/sd3") return images;
  if (!/^sd3\.5-(large|large-turbo|medium|flash)$/.test(model ?? "")) {
    throw invalid("model: must be one of sd3.5-large, sd3.5-large-turbo, sd3.5-medium");
  }
  if ((mode === "image-to-image") !== (images.length === 1))
    throw invalid("mode: does not fit image");
  if (images.length === 1 && aspect_ratio !== undefined) {
    throw invalid("aspect_ratio: is only valid for text-to-image requests");
  }
  return images;
}

/** The reference's own examples, and for 402 what its users recorded. */
const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...notFound },
  {
    kind: "moderation_blocked",
    ...refusal(
      403,
      "content_moderation",
      "Your request was flagged by our content moderation system, as a result your request was denied and you were not charged.",
    ),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      402,
      "payment_required",
      "You lack sufficient credits to make this request. Please purchase more credits at https://platform.stability.ai/account/credits and try again.",
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(
      429,
      "rate_limit_exceeded",
      "You have exceeded the rate limit of 150 requests within a 10 second period, and have been timed out for 60 seconds.",
    ),
  },
  { kind: "upstream_rejected", ...invalid("some-field: is required") },
  {
    kind: "upstream_rejected",
    ...refusal(422, "invalid_language", "English is the only supported language for this service."),
  },
  {
    kind: "upstream_rejected",
    ...refusal(413, "payload_too_large", "Request body size exceeds the limit of 10MiB."),
  },
  {
    kind: "upstream_error",
    ...refusal(
      500,
      "internal_error",
      "An unexpected server error has occurred, please try again later.",
    ),
  },
];

const vendor = (name: string, model: string): FakeVendor => ({
  name,
  kind: "stability",
  model,
  config: { apiKey: key },
  operations: ["generations", "edits"],
  source: "https://platform.stability.ai/docs/api-reference, v2beta",
  open,
  refusals,
});

export const stability: readonly FakeVendor[] = [
  vendor("stability-core", "stable-image-core"),
  vendor("stability-ultra", "stable-image-ultra"),
  vendor("stability-sd3", "sd3.5-large"),
];
