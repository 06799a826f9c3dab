/** Fake of fal's queue, with the endpoints whose request formats differ most. */
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { createJobStore, isWhole, type JobStore, present, wrappedImage } from "./job-server.ts";

const key = "4d2c7e90-fal0-4b3a-9c8d-7e6f5a4b3c2d:0f1e2d3c4b5a69788796a5b4c3d2e1f0";

type Fields = Readonly<Record<string, unknown>>;

const complaint = (field: string, msg: string, type: string): VendorResponse => ({
  status: 422,
  body: {
    detail: [{ loc: ["body", field], msg, type, url: `https://docs.fal.ai/errors#${type}` }],
  },
});

const invalid = (field: string, msg: string) => complaint(field, msg, "value_error");

interface Form {
  readonly fields: readonly string[];
  readonly formats: readonly string[];
  /** Named aspect ratios; absent: it takes image_size. */
  readonly shapes?: readonly string[];
  /** Sizes as text; absent: by width and height. */
  readonly sizes?: readonly string[];
  readonly most?: number;
  readonly source?: "image_urls" | "reference_image_urls";
  /** Values of `resolution`. If absent, it has no such field. */
  readonly resolutions?: readonly string[];
}

const geminiShapes = ["21:9", "16:9", "3:2", "4:3", "5:4", "1:1", "4:5", "3:4", "2:3", "9:16"];
const banners = ["4:1", "1:4", "8:1", "1:8"];
const openaiSizes = ["1024x1024", "1536x1024", "1024x1536"];
const openaiForm: Form = {
  fields: ["quality", "background"],
  formats: ["png", "jpeg", "webp"],
  sizes: openaiSizes,
  most: 4,
};

const forms: Readonly<Record<string, Form>> = {
  "/fal-ai/flux/dev": {
    fields: ["num_inference_steps", "guidance_scale", "acceleration"],
    formats: ["jpeg", "png"],
    most: 4,
  },
  "/fal-ai/flux-2-pro": { fields: ["safety_tolerance"], formats: ["jpeg", "png"] },
  "/fal-ai/flux-2-pro/edit": {
    fields: ["safety_tolerance"],
    formats: ["jpeg", "png"],
    source: "image_urls",
  },
  "/fal-ai/nano-banana": {
    fields: ["limit_generations"],
    formats: ["png", "jpeg", "webp"],
    shapes: geminiShapes,
    most: 4,
  },
  "/fal-ai/nano-banana/edit": {
    fields: ["limit_generations"],
    formats: ["png", "jpeg", "webp"],
    shapes: [...geminiShapes, "auto"],
    most: 4,
    source: "image_urls",
  },
  "/fal-ai/nano-banana-2": {
    fields: ["limit_generations", "thinking_level"],
    formats: ["png", "jpeg", "webp"],
    shapes: [...geminiShapes, ...banners, "auto"],
    resolutions: ["0.5K", "1K", "2K", "4K"],
    most: 4,
  },
  "/fal-ai/nano-banana-2/edit": {
    fields: ["limit_generations", "thinking_level"],
    formats: ["png", "jpeg", "webp"],
    shapes: [...geminiShapes, ...banners, "auto"],
    resolutions: ["0.5K", "1K", "2K", "4K"],
    most: 4,
    source: "image_urls",
  },
  "/fal-ai/ideogram/character": {
    fields: ["rendering_speed", "style", "expand_prompt", "negative_prompt"],
    formats: ["png"],
    most: 4,
    source: "reference_image_urls",
  },
  "/fal-ai/gpt-image-1.5": openaiForm,
  "/fal-ai/gpt-image-1.5/edit": {
    ...openaiForm,
    fields: [...openaiForm.fields, "mask_image_url", "input_fidelity"],
    sizes: [...openaiSizes, "auto"],
    source: "image_urls",
  },
};

const always = ["prompt", "seed", "sync_mode", "enable_safety_checker", "output_format"];

function check(input: Fields, form: Form): void {
  const { fields, formats, shapes, sizes, most, source, resolutions } = form;
  rejectUnknownFields(input, [
    ...always,
    shapes ? "aspect_ratio" : "image_size",
    ...fields,
    ...(most ? ["num_images"] : []),
    ...(source ? [source] : []),
    ...(resolutions ? ["resolution"] : []),
  ]);
  if (input.resolution !== undefined && !resolutions?.includes(String(input.resolution))) {
    throw invalid("resolution", `Input should be ${resolutions?.join(", ")}`);
  }
  const { prompt, num_images, output_format = formats[0], image_size, aspect_ratio } = input;
  if (typeof prompt !== "string") throw complaint("prompt", "Field required", "missing");
  if (!isWhole(num_images, 1, most ?? 1)) throw invalid("num_images", `Must be 1 to ${most}`);
  if (!formats.includes(String(output_format))) throw invalid("output_format", "No such format");
  if (aspect_ratio !== undefined && !shapes?.includes(String(aspect_ratio))) {
    throw invalid("aspect_ratio", `Input should be ${shapes?.join(", ")}`);
  }
  if (image_size === undefined) return;
  const { width, height } = image_size as Fields;
  const fits = sizes
    ? sizes.includes(String(image_size))
    : isWhole(width ?? 0, 64, 14_142) && isWhole(height ?? 0, 64, 14_142);
  if (!fits) throw invalid("image_size", "Input should be a valid dictionary or a known name");
}

function sizeOf(size: unknown): string | undefined {
  if (typeof size === "string") return size === "auto" ? undefined : size;
  const { width, height } = (size ?? {}) as Fields;
  return width === undefined ? undefined : `${width}x${height}`;
}

function parseRequest(input: Fields, { source }: Form): ParsedRequest {
  const { prompt, num_images = 1, image_size, aspect_ratio } = input;
  const { output_format, quality, background, input_fidelity, mask_image_url: mask } = input;
  const size = sizeOf(image_size);
  const image = (value: unknown) =>
    wrappedImage(value, () => complaint("image_urls", "Failed to read", "file_download_error"));
  const images = source ? (input[source] as unknown[] | undefined) : undefined;
  if (source && !images?.length) throw complaint(source, "Field required", "missing");
  return {
    prompt: String(prompt),
    n: Number(num_images),
    ...(size !== undefined && { size }),
    ...(typeof aspect_ratio === "string" && aspect_ratio !== "auto" && { aspect: aspect_ratio }),
    options: present({ output_format, quality, background, input_fidelity }),
    ...(images && { images: images.map(image) }),
    ...(mask !== undefined && { mask: image(mask) }),
  };
}

/** The response to the request for the result: only there is an invalid job refused. */
type Made = VendorResponse;

async function make(
  input: Fields,
  form: Form,
  generator: ImageGenerator,
  { origin, path }: VendorRequest,
): Promise<Made> {
  check(input, form);
  const parsed = parseRequest(input, form);
  const format = (parsed.options?.output_format ?? form.formats[0]) as "png" | "jpeg" | "webp";
  const generated = await generator.generate(parsed, format);
  const images = generated.map((image, at) => ({
    url: generator.link(image, origin),
    content_type: `image/${format}`,
    file_name: `${at}.${format}`,
    file_size: image.length,
    width: null,
    height: null,
  }));
  if (path.includes("/gpt-image")) return { body: { images } };
  if (path.includes("/nano-banana")) return { body: { images, description: "" } };
  return {
    body: {
      images,
      timings: { inference: 1.2249955059960485 },
      seed: 920_212_137,
      has_nsfw_concepts: generated.map(() => false),
      prompt: input.prompt,
    },
  };
}

async function submit(
  request: VendorRequest,
  generator: ImageGenerator,
  jobStore: JobStore<Made>,
): Promise<VendorResponse> {
  const { origin, path } = request;
  const form = forms[path];
  if (!form) throw { status: 404, body: { detail: `Application "${path.slice(1)}" not found` } };
  const input = jsonOf(request);
  const made = await make(input, form, generator, request).catch((thrown: unknown) => {
    if (thrown instanceof Error) throw thrown;
    return thrown as VendorResponse;
  });
  const id = jobStore.leave(made);
  return { body: queueStatus(id, path, origin, "IN_QUEUE") };
}

/** The addresses of a job name only the first two steps of an endpoint. */
function queueStatus(id: string, path: string, origin: string, status: string): object {
  const job = `${origin}${path.split("/").slice(0, 3).join("/")}/requests/${id}`;
  return {
    status,
    request_id: id,
    response_url: job,
    status_url: `${job}/status`,
    cancel_url: `${job}/cancel`,
    ...(status === "IN_QUEUE" && { queue_position: 0 }),
    ...(status !== "IN_QUEUE" && { logs: null }),
    ...(status === "COMPLETED" && { metrics: { inference_time: 1.22 } }),
  };
}

function follow(request: VendorRequest, jobStore: JobStore<Made>): VendorResponse {
  const { method, path, origin } = request;
  const [, app = "", id = "", rest = ""] =
    /^(\/[^/]+\/[^/]+)\/requests\/([\w-]+)(\/\w+)?$/.exec(path) ?? [];
  const found = jobStore.visit(id);
  if (!found) throw { status: 404, body: { detail: "Request not found" } };
  if (method === "PUT" && rest === "/cancel") {
    return { status: 202, body: { status: "CANCELLATION_REQUESTED" } };
  }
  if (method !== "GET") throw { status: 405, body: { detail: "Method Not Allowed" } };
  if (rest === "/status") {
    const status = found.done ? "COMPLETED" : "IN_PROGRESS";
    return {
      status: status === "COMPLETED" ? 200 : 202,
      body: queueStatus(id, app, origin, status),
    };
  }
  if (!found.done) throw { status: 400, body: { detail: "Request is still in progress" } };
  return found.result;
}

const open: FakeVendor["open"] = (generator) => {
  const jobStore = createJobStore<Made>();
  return (request) => {
    if (request.headers.get("authorization") !== `Key ${key}`) {
      throw { status: 401, body: { detail: "No user found for Key ID and Secret" } };
    }
    return request.path.includes("/requests/")
      ? follow(request, jobStore)
      : submit(request, generator, jobStore);
  };
};

const refusals: FakeVendor["refusals"] = [
  {
    status: 401,
    body: { detail: "No user found for Key ID and Secret" },
    kind: "upstream_credentials",
  },
  { status: 404, body: { detail: 'Application "nobody" not found' }, kind: "model_not_found" },
  {
    status: 403,
    body: {
      detail:
        "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
    },
    kind: "insufficient_quota",
  },
  {
    status: 429,
    headers: { "retry-after": "3" },
    body: { detail: "Too many concurrent requests" },
    kind: "upstream_rate_limit",
  },
  {
    ...complaint(
      "prompt",
      "The content could not be processed because it contained material flagged by a content checker.",
      "content_policy_violation",
    ),
    kind: "moderation_blocked",
  },
  {
    body: { images: [{ url: "https://v3.fal.media/files/black.png" }], has_nsfw_concepts: [true] },
    kind: "moderation_blocked",
  },
  { ...invalid("seed", "Input should be a valid integer"), kind: "upstream_rejected" },
  {
    status: 503,
    headers: { "x-fal-error-type": "runner_scheduling_failure" },
    body: { detail: "No runner could be allocated", error_type: "runner_scheduling_failure" },
    kind: "upstream_overloaded",
  },
  {
    status: 504,
    body: { detail: "Request timed out", error_type: "request_timeout" },
    kind: "upstream_timeout",
  },
];

const vendor = (name: string, model: string, operations: FakeVendor["operations"]): FakeVendor => ({
  name,
  kind: "fal",
  model,
  config: { apiKey: key },
  operations,
  source:
    "https://fal.ai/docs/api-reference/inference-api, and libs/client/src/types of https://github.com/fal-ai/fal-js",
  open,
  refusals,
});

export const fal: readonly FakeVendor[] = [
  vendor("fal-flux", "fal-ai/flux/dev", ["generations"]),
  vendor("fal-flux-2", "fal-ai/flux-2-pro", ["generations", "edits"]),
  vendor("fal-nano-banana", "fal-ai/nano-banana", ["generations", "edits"]),
  vendor("fal-nano-banana-2", "fal-ai/nano-banana-2", ["generations", "edits"]),
  vendor("fal-ideogram-character", "fal-ai/ideogram/character", ["edits"]),
  vendor("fal-gpt-image", "fal-ai/gpt-image-1.5", ["generations", "edits"]),
];
