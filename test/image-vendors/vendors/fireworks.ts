/** Fake of Fireworks: FLUX and SDXL respond with the image, Kontext with a job that is polled with POST. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { fromDataUrl } from "./data-url.ts";

const key = "fw_0123456789abcdefghijkl";
const account = "/inference/v1";

const refusal = (status: number, message: string, others: object = {}): VendorResponse => ({
  status,
  body: { error: { object: "error", type: "invalid_request_error", message, ...others } },
});

const wrongKey = refusal(401, "The API key you provided is invalid.", { code: "UNAUTHORIZED" });
const noModel = refusal(404, "Model not found, inaccessible, and/or not deployed", {
  param: "model",
  code: "NOT_FOUND",
});
const invalid = (message: string): VendorResponse => refusal(400, message);

type Respond = (request: VendorRequest) => Promise<VendorResponse> | VendorResponse;

const authorize = ({ method, path, headers }: VendorRequest): string => {
  if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey;
  if (method !== "POST" || !path.startsWith(`${account}/`)) throw { status: 404, body: "" };
  return path.slice(account.length + 1);
};

const shapes = /^(1:1|21:9|16:9|3:2|5:4|4:3|4:5|3:4|2:3|9:16|9:21)$/;

/** The image in the format of the `accept` header. The response headers have the metadata. */
async function image(
  generator: ImageGenerator,
  { headers }: VendorRequest,
  parsed: { prompt: unknown; size?: string; aspect?: unknown },
): Promise<VendorResponse> {
  const { prompt, size, aspect } = parsed;
  const accept = headers.get("accept");
  if (accept !== "image/png" && accept !== "image/jpeg") throw invalid("Unsupported accept header");
  if (typeof prompt !== "string") throw invalid("prompt: field required");
  if (aspect !== undefined && !shapes.test(String(aspect))) throw invalid("Invalid aspect_ratio");
  const format = accept === "image/png" ? "png" : "jpeg";
  const [generated = new Uint8Array()] = await generator.generate(
    {
      prompt,
      n: 1,
      ...(size && { size }),
      ...(aspect !== undefined && { aspect: String(aspect) }),
    },
    format,
  );
  return { headers: { "finish-reason": "SUCCESS", seed: "1234567890" }, body: generated };
}

const flux = "accounts/fireworks/models/flux-1-schnell-fp8";

const openFlux =
  (generator: ImageGenerator): Respond =>
  (request) => {
    if (authorize(request) !== `workflows/${flux}/text_to_image`) throw noModel;
    const body = jsonOf(request);
    rejectUnknownFields(body, [
      "prompt",
      "aspect_ratio",
      "guidance_scale",
      "num_inference_steps",
      "seed",
    ]);
    return image(generator, request, { prompt: body.prompt, aspect: body.aspect_ratio });
  };

const sdxl = "accounts/fireworks/models/stable-diffusion-xl-1024-v1-0";

const sdxlFields = words(`
  prompt negative_prompt width height cfg_scale sampler samples steps seed style_preset safety_check
`);

const openSdxl =
  (generator: ImageGenerator): Respond =>
  (request) => {
    if (authorize(request) !== `image_generation/${sdxl}`) throw noModel;
    const body = jsonOf(request, sdxlFields);
    const { prompt, width = 1024, height = 1024 } = body;
    const size = `${Number(width)}x${Number(height)}`;
    const known =
      /^(1024x1024|1152x896|896x1152|1216x832|832x1216|1344x768|768x1344|1536x640|640x1536)$/;
    if (!known.test(size)) throw invalid(`Invalid height and width: ${size}`);
    return image(generator, request, { prompt, size });
  };

const kontext = "accounts/fireworks/models/flux-kontext-pro";

const kontextFields = words(`
  prompt input_image seed aspect_ratio output_format webhook_url webhook_secret prompt_upsampling
  safety_tolerance
`);

/** How often a job is polled before it is done. */
const polls = 2;

const openKontext = (generator: ImageGenerator): Respond => {
  const jobs = new Map<string, { left: number; readonly link: string }>();
  return async (request) => {
    const { origin } = request;
    const modelPath = authorize(request);
    if (modelPath === `workflows/${kontext}/get_result`) {
      const id = String(jsonOf(request).id);
      const job = jobs.get(id);
      if (!job) return { body: { id, status: "Task not found", result: null } };
      if (job.left-- > 0) return { body: { id, status: "Pending", result: null, progress: 0 } };
      return { body: { id, status: "Ready", result: { sample: job.link }, progress: 1 } };
    }
    if (modelPath !== `workflows/${kontext}`) throw noModel;
    const body = jsonOf(request, kontextFields);
    const { prompt, input_image, aspect_ratio, output_format = "jpeg" } = body;
    if (typeof prompt !== "string") throw invalid("prompt: field required");
    if (aspect_ratio !== undefined && !shapes.test(String(aspect_ratio))) {
      throw invalid("Invalid aspect_ratio");
    }
    if (output_format !== "png" && output_format !== "jpeg") throw invalid("Invalid output_format");
    const [generated] = await generator.generate(
      {
        prompt,
        n: 1,
        ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
        ...(input_image !== undefined && {
          images: [fromDataUrl(input_image, invalid("Invalid input_image"))],
        }),
      },
      output_format,
    );
    const id = `job-${jobs.size}`;
    jobs.set(id, { left: polls - 1, link: generated ? generator.link(generated, origin) : "" });
    return { body: { request_id: id } };
  };
};

const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...noModel },
  {
    kind: "insufficient_quota",
    ...refusal(
      412,
      "Account fake-account-0 is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.",
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "Request rate limit exceeded", { code: "RATE_LIMIT" }),
    headers: { "retry-after": "5" },
  },
  { kind: "upstream_rejected", ...invalid("Invalid aspect_ratio") },
  {
    kind: "upstream_overloaded",
    ...refusal(503, "Service overloaded, please try again later", { code: "OVERLOADED" }),
  },
];

const vendor = (
  name: string,
  model: string,
  operations: FakeVendor["operations"],
  source: string,
  open: FakeVendor["open"],
): FakeVendor => ({
  name,
  kind: "fireworks",
  model,
  config: { apiKey: key },
  basePath: account,
  operations,
  source,
  open,
  refusals,
});

const docs = "https://docs.fireworks.ai/api-reference";

export const fireworks: readonly FakeVendor[] = [
  vendor(
    "fireworks-flux",
    flux,
    ["generations"],
    `${docs}/generate-a-new-image-from-a-text-prompt`,
    openFlux,
  ),
  vendor(
    "fireworks-kontext",
    kontext,
    ["generations", "edits"],
    `${docs}/generate-or-edit-image-using-flux-kontext`,
    openKontext,
  ),
  vendor(
    "fireworks-sdxl",
    sdxl,
    ["generations"],
    "https://github.com/vercel/ai, packages/fireworks",
    openSdxl,
  ),
];
