/** Fake of Black Forest Labs, with four of its endpoints. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { createJobStore, isWhole, type JobStore, plainImage, present } from "./job-server.ts";

const key = "9b1f6c1e-bfl-4c5a-8f0e-3d2c1b0a9f8e";
const source = "https://docs.bfl.ml/api-reference, and https://docs.bfl.ml/api_integration/errors";

type Fields = Readonly<Record<string, unknown>>;

/** As FastAPI complains. */
const invalid = (field: string, msg: string): VendorResponse => ({
  status: 422,
  body: { detail: [{ type: "value_error", loc: ["body", field], msg, input: null }] },
});

const common = words("prompt seed safety_tolerance output_format webhook_url webhook_secret");

interface Endpoint {
  readonly fields: readonly string[];
  /** The first image field, and the number of image fields. */
  readonly imageFields?: readonly [string, number];
  check(fields: Fields): void;
}

function edges({ width, height }: Fields, step: number, from: number, to: number): void {
  for (const [name, edge] of Object.entries({ width, height })) {
    if (!isWhole(edge, from, to)) throw invalid(name, `Input should be from ${from} to ${to}`);
    if (Number(edge ?? 0) % step !== 0) throw invalid(name, `Must be a multiple of ${step}`);
  }
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  "flux-2-pro": {
    fields: ["width", "height"],
    imageFields: ["input_image", 10],
    check: (fields) => {
      edges(fields, 16, 64, 4096);
      const { width = 1024, height = 1024 } = fields as { width?: number; height?: number };
      if (width * height > 2048 * 2048) throw invalid("width", "More than 4 megapixels");
    },
  },
  "flux-pro-1.1": {
    fields: ["width", "height", "image_prompt", "prompt_upsampling"],
    check: (fields) => edges(fields, 32, 256, 1440),
  },
  "flux-kontext-pro": {
    fields: ["aspect_ratio", "prompt_upsampling"],
    imageFields: ["input_image", 4],
    check: ({ aspect_ratio = "1:1" }) => {
      const [across = 0, down = 1] = String(aspect_ratio).split(":").map(Number);
      if (!(across / down >= 9 / 21 && across / down <= 21 / 9)) {
        throw invalid("aspect_ratio", "Aspect ratio must be between 21:9 and 9:21");
      }
    },
  },
  "flux-pro-1.0-fill": {
    fields: ["mask", "steps", "guidance", "prompt_upsampling"],
    imageFields: ["image", 1],
    check: ({ image }) => {
      if (image === undefined) throw invalid("image", "Field required");
    },
  },
};

const namesOf = ([first, count]: readonly [string, number]): string[] =>
  Array.from({ length: count }, (_, at) => (at === 0 ? first : `${first}_${at + 1}`));

function parseRequest(fields: Fields, { imageFields }: Endpoint): ParsedRequest {
  const { prompt, width, height, aspect_ratio, output_format, mask } = fields;
  const images = (imageFields ? namesOf(imageFields) : [])
    .filter((name) => fields[name] !== undefined)
    .map((name) => plainImage(fields[name], () => invalid(name, "Invalid base64 encoding")));
  return {
    prompt: String(prompt),
    n: 1,
    ...(width !== undefined && { size: `${width}x${height}` }),
    ...(typeof aspect_ratio === "string" && { aspect: aspect_ratio }),
    options: present({ output_format }),
    ...(images.length > 0 && { images }),
    ...(mask !== undefined && {
      mask: plainImage(mask, () => invalid("mask", "Invalid base64 encoding")),
    }),
  };
}

interface Made {
  readonly sample: string | null;
  readonly prompt: string;
}

async function submit(
  request: VendorRequest,
  generator: ImageGenerator,
  jobStore: JobStore<Made>,
): Promise<VendorResponse> {
  const { origin, path } = request;
  const endpoint = endpoints[path.replace(/^\/v1\//, "")];
  if (!endpoint) throw { status: 404, body: { detail: "Not Found" } } satisfies VendorResponse;
  const fields = jsonOf(request);
  const imageFields = endpoint.imageFields ? namesOf(endpoint.imageFields) : [];
  rejectUnknownFields(fields, [...common, ...endpoint.fields, ...imageFields]);
  if (typeof fields.prompt !== "string") throw invalid("prompt", "Field required");
  const { output_format = "jpeg" } = fields;
  if (output_format !== "jpeg" && output_format !== "png") {
    throw invalid("output_format", "Input should be 'jpeg' or 'png'");
  }
  endpoint.check(fields);
  const [image] = await generator.generate(parseRequest(fields, endpoint), output_format);
  const sample = image ? generator.link(image, origin) : null;
  const id = jobStore.leave({ sample, prompt: fields.prompt });
  return {
    body: {
      id,
      polling_url: `${origin}/v1/get_result?id=${id}`,
      cost: 4.5,
      input_mp: 0,
      output_mp: 1.05,
    },
  };
}

function getResult({ path }: VendorRequest, jobStore: JobStore<Made>): VendorResponse {
  const id = new URL(path, "http://fake").searchParams.get("id") ?? "";
  const found = jobStore.visit(id);
  const others = { progress: null, details: null, preview: null };
  if (!found) return { body: { id, status: "Task not found", result: null, ...others } };
  if (!found.done) return { body: { id, status: "Pending", result: null, ...others } };
  const result = {
    sample: found.result.sample,
    prompt: found.result.prompt,
    seed: 42,
    start_time: 1_764_000_000.1,
    end_time: 1_764_000_004.6,
    duration: 4.5,
  };
  return { body: { id, status: "Ready", result, ...others } };
}

const open: FakeVendor["open"] = (generator) => {
  const jobStore = createJobStore<Made>();
  return (request) => {
    if (request.headers.get("x-key") !== key) {
      throw { status: 403, body: { detail: "Not authenticated - Invalid Authentication" } };
    }
    if (request.method === "POST") return submit(request, generator, jobStore);
    if (request.path.startsWith("/v1/get_result?")) return getResult(request, jobStore);
    throw { status: 404, body: { detail: "Not Found" } };
  };
};

const ended = (status: string, details: object | null) => ({
  body: { id: "gone", status, result: null, progress: null, details, preview: null },
});

const refusals: FakeVendor["refusals"] = [
  {
    status: 403,
    body: { detail: "Not authenticated - Invalid Authentication" },
    kind: "upstream_credentials",
  },
  { status: 404, body: { detail: "Not Found" }, kind: "model_not_found" },
  { status: 402, body: { detail: "Insufficient credits" }, kind: "insufficient_quota" },
  {
    status: 429,
    body: {
      error: "rate_limit_exceeded",
      message: "Too many concurrent requests",
      retry_after: 5,
    },
    kind: "upstream_rate_limit",
  },
  { ...invalid("width", "Input should be a multiple of 16"), kind: "upstream_rejected" },
  {
    ...ended("Request Moderated", { "Moderation Reasons": ["Derivative Works Filter"] }),
    kind: "moderation_blocked",
  },
  { ...ended("Content Moderated", null), kind: "moderation_blocked" },
  { ...ended("Error", { error: "Inference failed" }), kind: "upstream_error" },
  { status: 503, body: { detail: "Service Unavailable" }, kind: "upstream_overloaded" },
  { status: 500, body: { detail: "Internal Server Error" }, kind: "upstream_error" },
];

const vendor = (name: string, model: string, operations: FakeVendor["operations"]): FakeVendor => ({
  name,
  kind: "bfl",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations,
  source,
  open,
  refusals,
});

export const bfl: readonly FakeVendor[] = [
  vendor("bfl-flux-2", "flux-2-pro", ["generations", "edits"]),
  vendor("bfl-flux-1.1", "flux-pro-1.1", ["generations"]),
  vendor("bfl-kontext", "flux-kontext-pro", ["generations", "edits"]),
  vendor("bfl-fill", "flux-pro-1.0-fill", ["edits"]),
];
