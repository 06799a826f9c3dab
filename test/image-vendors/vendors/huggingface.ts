/** HF Inference: @huggingface/tasks and @huggingface/inference; refusals as in public reports. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

const key = "hf_UpStreamTokenOfThisTest01";
const model = "black-forest-labs/FLUX.1-Kontext-dev";

const known = words(`
  guidance_scale negative_prompt num_inference_steps scheduler seed width height prompt
  target_size
`);

const error = (status: number, message: string): VendorResponse => ({
  status,
  body: { error: message },
});

async function generate(
  request: VendorRequest,
  generator: ImageGenerator,
): Promise<VendorResponse> {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) {
    throw error(401, "Invalid username or password.");
  }
  if (method !== "POST" || path !== `/hf-inference/models/${model}`) {
    throw { status: 404, body: "Not Found" } satisfies VendorResponse;
  }
  const { inputs, parameters = {}, ...others } = jsonOf(request);
  rejectUnknownFields(others, []);
  if (typeof inputs !== "string") throw error(422, "missing field `inputs`");
  const { width, height, prompt, target_size, ...more } = parameters as Record<string, unknown>;
  rejectUnknownFields(parameters as Record<string, unknown>, known);
  for (const [name, value] of Object.entries(more)) {
    if (value === null || value === "") throw error(422, `${name}: invalid value`);
  }
  // The model is for both tasks: a prompt among the parameters makes the input an image.
  const size = (target_size ?? { width, height }) as { width?: number; height?: number };
  const [image] = await generator.generate(
    {
      ...(typeof prompt === "string"
        ? { prompt, images: [Buffer.from(inputs, "base64")] }
        : { prompt: inputs }),
      n: 1,
      ...(size.width !== undefined && { size: `${size.width}x${size.height}` }),
    },
    "jpeg",
  );
  return {
    headers: { "content-type": "image/jpeg", "x-compute-type": "cache" },
    body: image ?? new Uint8Array(),
  };
}

export const huggingface: readonly FakeVendor[] = [
  {
    name: "huggingface",
    kind: "huggingface",
    model,
    config: { apiKey: key },
    basePath: "/hf-inference",
    operations: ["generations", "edits"],
    source:
      "huggingface/huggingface.js: packages/tasks/src/tasks/{text-to-image,image-to-image}/spec, packages/inference/src/providers/hf-inference.ts",
    open: (generator) => (request) => generate(request, generator),
    refusals: [
      { ...error(401, "Invalid username or password."), kind: "upstream_credentials" },
      {
        ...error(
          402,
          "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
        ),
        kind: "insufficient_quota",
      },
      { status: 404, body: "Not Found", kind: "model_not_found" },
      { ...error(400, "Model not supported by provider hf-inference"), kind: "model_not_found" },
      {
        ...error(400, "num_inference_steps must be between 1 and 50"),
        kind: "upstream_rejected",
      },
      {
        ...error(429, "Rate limit reached."),
        headers: { "retry-after": "17" },
        kind: "upstream_rate_limit",
      },
      { ...error(500, "Internal Server Error"), kind: "upstream_error" },
      {
        status: 503,
        body: { error: `Model ${model} is currently loading`, estimated_time: 20 },
        kind: "upstream_overloaded",
      },
    ],
  },
];
