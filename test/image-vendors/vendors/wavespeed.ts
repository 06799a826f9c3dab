/** Fake of WaveSpeed: wavespeed.ai/docs/docs-api/flux-dev-ultra-fast, and huggingface_hub 2.4.0, _providers/wavespeed.py. */
import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { fromDataUrl } from "./data-url.ts";
import { createJobStore, type JobStore, present } from "./job-server.ts";

const key = "wsk_0123456789abcdef0123456789abcdef";
const model = "wavespeed-ai/flux-dev-ultra-fast";

const refuse = (status: number, message: string): VendorResponse => ({
  status,
  body: { code: status, message },
});

const fields = words(
  "prompt size output_format image strength seed num_inference_steps guidance_scale",
);

const prediction = (id: string, origin: string, status: string, more: object = {}) => ({
  code: 200,
  message: "success",
  data: {
    id,
    model,
    outputs: [] as readonly string[],
    urls: { get: `${origin}/api/v3/predictions/${id}/result` },
    has_nsfw_contents: [],
    status,
    created_at: "2026-11-18T10:11:12.131Z",
    error: "",
    ...more,
  },
});

async function submit(
  request: VendorRequest,
  generator: ImageGenerator,
  jobStore: JobStore<readonly string[]>,
): Promise<VendorResponse> {
  const { origin, path } = request;
  if (path !== `/api/v3/${model}`) throw refuse(404, "model not found");
  const { prompt, size, output_format = "jpeg", image } = jsonOf(request, fields);
  if (typeof prompt !== "string") throw refuse(400, "prompt is required");
  if (size !== undefined && !/^\d+\*\d+$/.test(String(size))) throw refuse(400, "size is invalid");
  const parsed: ParsedRequest = {
    prompt,
    n: 1,
    ...(size !== undefined && { size: String(size).replace("*", "x") }),
    options: present({ output_format }),
    ...(image !== undefined && { images: [fromDataUrl(image, refuse(400, "image is invalid"))] }),
  };
  const format = output_format as "jpeg" | "png" | "webp";
  const images = await generator.generate(parsed, format);
  const id = jobStore.leave(images.map((made) => generator.link(made, origin)));
  return { body: prediction(id, origin, "created") };
}

const open: FakeVendor["open"] = (generator) => {
  const jobStore = createJobStore<readonly string[]>();
  return (request) => {
    const { method, path, origin, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw refuse(401, "Invalid API key");
    if (method === "POST") return submit(request, generator, jobStore);
    const id = /^\/api\/v3\/predictions\/([\w-]+)\/result$/.exec(path)?.[1] ?? "";
    const found = jobStore.visit(id);
    if (!found) throw refuse(404, "prediction not found");
    return {
      body: found.done
        ? prediction(id, origin, "completed", { outputs: found.result })
        : prediction(id, origin, "processing"),
    };
  };
};

const failed = (error: string): VendorResponse => ({
  body: prediction("gone", "https://api.wavespeed.ai", "failed", { error }),
});

export const wavespeed: readonly FakeVendor[] = [
  {
    name: "wavespeed",
    kind: "wavespeed",
    model,
    config: { apiKey: key },
    basePath: "/api/v3",
    operations: ["generations", "edits"],
    source: "https://wavespeed.ai/docs/docs-api/flux-dev-ultra-fast",
    open,
    refusals: [
      { ...refuse(401, "Invalid API key"), kind: "upstream_credentials" },
      { ...refuse(402, "Insufficient credits"), kind: "insufficient_quota" },
      { ...refuse(404, "model not found"), kind: "model_not_found" },
      { ...refuse(400, "size is invalid"), kind: "upstream_rejected" },
      {
        ...refuse(429, "Too many requests"),
        headers: { "retry-after": "12" },
        kind: "upstream_rate_limit",
      },
      { ...failed("Content flagged as NSFW"), kind: "moderation_blocked" },
      { ...failed("Inference failed"), kind: "upstream_error" },
      { ...refuse(503, "Service unavailable"), kind: "upstream_overloaded" },
    ],
  },
];
