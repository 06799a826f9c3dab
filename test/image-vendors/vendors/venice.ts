/** Venice: a generation model at OpenAI's path, and an edit model at Venice's own. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  jsonOf,
  type ParsedRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { present } from "./job-server.ts";

const key = "vnc-0123456789abcdefghijklmnopqrstuv";

const modelList = "/api/v1/models?type=image";

const error = (status: number, message: string, details?: object): VendorResponse => ({
  status,
  body: { error: message, ...(details && { details }) },
});

const invalid = (field: string, why: string): VendorResponse =>
  error(400, "Invalid request parameters", { [field]: { _errors: [why] } });

type Fields = Readonly<Record<string, unknown>>;

/** Both schemas have `additionalProperties: false`. */
function check(body: Fields, names: readonly string[], longestPrompt: number): void {
  const unknown = Object.keys(body).find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(unknown, "Unrecognized key");
  const { prompt, output_format = "png" } = body;
  if (typeof prompt !== "string" || prompt === "") throw invalid("prompt", "Required");
  if (prompt.length > longestPrompt) throw invalid("prompt", "Too long");
  if (!["jpeg", "png", "webp"].includes(String(output_format))) {
    throw invalid("output_format", "Invalid enum value");
  }
}

const sizes = words("auto 256x256 512x512 1024x1024 1536x1024 1024x1536 1792x1024 1024x1792");

const openaiFields = words(`
  model prompt n size response_format output_format moderation background quality style user
  output_compression
`);

function generationOf(body: Fields, model: string): ParsedRequest {
  check(body, openaiFields, 1500);
  const { prompt, n = 1, size, output_format, moderation } = body;
  if (n !== 1) throw invalid("n", "Number must be less than or equal to 1");
  if (size !== undefined && !sizes.includes(String(size))) throw invalid("size", "Invalid enum");
  // Venice would generate with its default model. A test that comes here has the wrong one.
  if (body.model !== model) throw error(404, "Specified model not found");
  return {
    prompt: String(prompt),
    n: 1,
    ...(size !== undefined && size !== "auto" && { size: String(size) }),
    options: present({ output_format, moderation }),
  };
}

const editFields = words(`
  prompt aspect_ratio output_format resolution safe_mode enhance_prompt
  disable_prompt_optimization_thinking
`);
const ratios = ["auto", "1:1", "3:2", "16:9", "21:9", "9:16", "2:3", "3:4", "4:5"];

function editOf(body: Fields, model: string, several: boolean): ParsedRequest {
  const own = several ? ["modelId", "images", "quality"] : ["model", "modelId", "image"];
  check(body, [...editFields, ...own], 32_768);
  const { prompt, aspect_ratio, output_format, safe_mode } = body;
  if ((several ? body.modelId : body.model) !== model)
    throw error(404, "Specified model not found");
  if (aspect_ratio !== undefined && !ratios.includes(String(aspect_ratio))) {
    throw invalid("aspect_ratio", "Invalid enum value");
  }
  const images = (several ? body.images : [body.image]) as readonly unknown[];
  return {
    prompt: String(prompt),
    n: 1,
    ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
    options: present({
      output_format,
      moderation: safe_mode === undefined ? undefined : safe_mode === false ? "low" : "auto",
    }),
    images: images.map((image) => {
      const bytes = Buffer.from(String(image), "base64");
      if (bytes.toString("base64") !== image) throw invalid("image", "Invalid base64");
      return bytes;
    }),
  };
}

const open =
  (model: string): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw error(401, "Authentication failed");
    if (method === "GET" && path === modelList)
      return { body: { object: "list", type: "image", data: [{ id: "other" }, { id: model }] } };
    const [, verb] =
      /^\/api\/v1\/(images\/generations|image\/edit|image\/multi-edit)$/.exec(path) ?? [];
    if (method !== "POST" || verb === undefined) throw error(404, "Not Found");
    if (headers.get("content-type") !== "application/json")
      throw error(415, "Invalid content type");
    const body = jsonOf(request);
    const generating = verb === "images/generations";
    const parsed = generating
      ? generationOf(body, model)
      : editOf(body, model, verb === "image/multi-edit");
    const format = (body.output_format ?? "png") as "png" | "jpeg" | "webp";
    const [image = new Uint8Array()] = await generator.generate(parsed, format);
    if (generating) {
      const b64_json = Buffer.from(image).toString("base64");
      return { body: { created: 1_713_833_628, data: image.length > 0 ? [{ b64_json }] : [] } };
    }
    return {
      headers: { "content-type": `image/${format}`, "x-venice-model-id": model },
      body: image,
    };
  };

const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...error(401, "Authentication failed") },
  { kind: "insufficient_quota", ...error(402, "Insufficient USD or Diem balance") },
  { kind: "model_not_found", ...error(404, "Specified model not found") },
  { kind: "upstream_rate_limit", ...error(429, "Rate limit exceeded") },
  { kind: "upstream_rejected", ...invalid("prompt", "Too long") },
  { kind: "upstream_error", ...error(500, "Inference processing failed") },
  {
    kind: "upstream_overloaded",
    ...error(503, "The model is at capacity. Please try again later."),
  },
  {
    kind: "moderation_blocked",
    headers: { "x-venice-is-content-violation": "true" },
    body: { created: 1_713_833_628, data: [{ b64_json: "iVBORw0KGgo=" }] },
  },
];

const vendor = (name: string, model: string, operation: "generations" | "edits"): FakeVendor => ({
  name,
  kind: "venice",
  model,
  config: { apiKey: key },
  basePath: "/api/v1",
  modelList,
  operations: [operation],
  source: "https://github.com/veniceai/api-docs/blob/main/swagger.yaml, 2026-08-22",
  open: open(model),
  refusals,
});

export const venice: readonly FakeVendor[] = [
  vendor("venice", "qwen-image", "generations"),
  vendor("venice-edit", "qwen-image-3-edit", "edits"),
];
