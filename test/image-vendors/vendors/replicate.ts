/** Fake of Replicate, with the models whose request formats differ most. */

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
import { createJobStore, isWhole, type JobStore, present, wrappedImage } from "./job-server.ts";
import {
  type Fields,
  invalid,
  type Made,
  notFound,
  prediction,
  problem,
  replicateRefusals,
} from "./replicate-responses.ts";

const key = "r8_Zk3LmN8pQrS1tUvW2xYz4aBcD5eFgH6iJkL7";
const sdxl = "7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc";

interface Form {
  readonly fields: readonly string[];
  readonly formats?: readonly string[];
  readonly shapes?: readonly string[];
  /** The field for the number of images. The default is one image, and its output is not a list. */
  readonly count?: readonly [string, number];
  readonly source?: readonly [string, "list" | "one"];
  check?(fields: Fields): void;
}

const fluxShapes = words("1:1 16:9 21:9 3:2 2:3 4:5 5:4 3:4 4:3 9:16 9:21");
const saved = ["output_format", "output_quality"];

const forms: Readonly<Record<string, Form>> = {
  "/v1/models/black-forest-labs/flux-schnell/predictions": {
    fields: [...saved, "aspect_ratio", "num_outputs", "go_fast", "megapixels"],
    formats: ["webp", "jpg", "png"],
    shapes: fluxShapes,
    count: ["num_outputs", 4],
  },
  "/v1/models/black-forest-labs/flux-2-pro/predictions": {
    fields: [...saved, "aspect_ratio", "width", "height", "resolution", "input_images"],
    formats: ["webp", "jpg", "png"],
    shapes: [...fluxShapes, "custom", "match_input_image"],
    source: ["input_images", "list"],
    check: ({ aspect_ratio, width, height }) => {
      if (!isWhole(width, 256, 2048)) throw invalid("width", "must be from 256 to 2048");
      if (!isWhole(height, 256, 2048)) throw invalid("height", "must be from 256 to 2048");
      // Otherwise the two are not even looked at.
      if (width !== undefined && aspect_ratio !== "custom") throw invalid("width", "is not used");
    },
  },
  "/v1/models/black-forest-labs/flux-fill-pro/predictions": {
    fields: ["image", "mask", "outpaint", "steps", "guidance", "output_format"],
    formats: ["jpg", "png"],
    source: ["image", "one"],
    check: ({ image }) => {
      if (image === undefined) throw invalid("image", "is required");
    },
  },
  "/v1/models/openai/gpt-image-1.5/predictions": {
    fields: words(`
      aspect_ratio quality background moderation input_fidelity input_images output_format
      output_compression number_of_images user_id openai_api_key
    `),
    formats: ["png", "jpeg", "webp"],
    shapes: ["1:1", "3:2", "2:3"],
    count: ["number_of_images", 10],
    source: ["input_images", "list"],
  },
  "/v1/predictions": {
    fields: ["width", "height", "image", "mask", "prompt_strength", "num_outputs", "scheduler"],
    count: ["num_outputs", 4],
    source: ["image", "one"],
  },
};

const always = ["prompt", "seed", "negative_prompt", "safety_tolerance", "disable_safety_checker"];

function checkInput(input: Fields, { fields, formats, shapes, count, check }: Form): void {
  rejectUnknownFields(input, [...always, ...fields]);
  if (typeof input.prompt !== "string") throw invalid("prompt", "is required");
  const listed: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["output_format", formats],
    ["aspect_ratio", shapes],
  ];
  for (const [name, values = []] of listed) {
    const value = input[name];
    if (value !== undefined && !values.includes(String(value))) {
      throw invalid(name, `must be one of the following: "${values.join('", "')}"`);
    }
  }
  const [field, most] = count ?? ["", 1];
  if (!isWhole(input[field], 1, most)) throw invalid(field, `must be from 1 to ${most}`);
  check?.(input);
}

const options = ["quality", "background", "moderation", "input_fidelity", "output_compression"];

function parseRequest(input: Fields, { count, source }: Form): ParsedRequest {
  const { prompt, width, height, aspect_ratio, output_format, mask, user_id } = input;
  const image = (value: unknown) => wrappedImage(value, () => invalid("image", "is no uri"));
  const [field, how] = source ?? [];
  const fieldValue = field === undefined ? undefined : input[field];
  const list = how === "list" ? (fieldValue as unknown[] | undefined) : fieldValue && [fieldValue];
  return {
    prompt: String(prompt),
    n: Number(input[count?.[0] ?? ""] ?? 1),
    ...(width !== undefined && { size: `${width}x${height}` }),
    ...(typeof aspect_ratio === "string" && aspect_ratio !== "custom" && { aspect: aspect_ratio }),
    options: present({
      ...Object.fromEntries(options.map((name) => [name, input[name]])),
      output_format: output_format === "jpg" ? "jpeg" : output_format,
      user: user_id,
    }),
    ...(Array.isArray(list) && { images: list.map(image) }),
    ...(mask !== undefined && { mask: image(mask) }),
  };
}

async function create(
  request: VendorRequest,
  generator: ImageGenerator,
  jobStore: JobStore<Made>,
): Promise<VendorResponse> {
  const { origin, path, headers } = request;
  const form = forms[path];
  if (!form) throw notFound();
  const body = jsonOf(request, path === "/v1/predictions" ? ["input", "version"] : ["input"]);
  if (path === "/v1/predictions" && body.version !== sdxl) {
    const detail =
      "The specified version does not exist (or perhaps you don't have permission to use it?)";
    throw problem(422, "Invalid version or not permitted", detail);
  }
  if (!/^wait(=\d+)?$/.test(headers.get("prefer") ?? "wait")) throw problem(400, "Bad Prefer", "");
  const input = body.input as Fields;
  checkInput(input, form);
  const parsed = parseRequest(input, form);
  const format = String(parsed.options?.output_format ?? "webp") as "png" | "jpeg" | "webp";
  const links = (await generator.generate(parsed, format)).map((image) =>
    generator.link(image, origin),
  );
  const made = {
    input,
    version: path === "/v1/predictions" ? sdxl : "hidden",
    output: form.count ? links : (links[0] ?? null),
  };
  const id = jobStore.leave(made);
  return { status: 201, body: prediction(id, origin, made, "starting") };
}

const open: FakeVendor["open"] = (generator) => {
  const jobStore = createJobStore<Made>();
  return (request) => {
    const { method, path, origin, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw problem(401, "Unauthenticated", "You did not pass a valid authentication token");
    }
    const [, id, cancel] = /^\/v1\/predictions\/([\w-]+)(\/cancel)?$/.exec(path) ?? [];
    const found = id === undefined ? undefined : jobStore.visit(id);
    if (id !== undefined && found) {
      if (cancel && method === "POST") {
        return { body: prediction(id, origin, found.result, "canceled") };
      }
      const status = found.done ? "succeeded" : "processing";
      return { body: prediction(id, origin, found.result, status) };
    }
    if (method === "POST") return create(request, generator, jobStore);
    throw notFound();
  };
};

const vendor = (name: string, model: string, operations: FakeVendor["operations"]): FakeVendor => ({
  name,
  kind: "replicate",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations,
  source: "https://replicate.com/docs/reference/http, and each model's own page /api",
  open,
  refusals: replicateRefusals,
});

export const replicate: readonly FakeVendor[] = [
  vendor("replicate-flux-schnell", "black-forest-labs/flux-schnell", ["generations"]),
  vendor("replicate-flux-2", "black-forest-labs/flux-2-pro", ["generations", "edits"]),
  vendor("replicate-fill", "black-forest-labs/flux-fill-pro", ["edits"]),
  vendor("replicate-gpt-image", "openai/gpt-image-1.5", ["generations", "edits"]),
  vendor("replicate-version", `stability-ai/sdxl:${sdxl}`, ["generations", "edits"]),
];
