/** OpenRouter's Image API: OpenRouterTeam/typescript-sdk, .speakeasy/in.openapi.yaml, and its page on errors. */

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

const key = "sk-or-v1-0123456789abcdef0123456789abcdef";

const error = (code: number, message: string, metadata?: object): VendorResponse => ({
  status: code,
  headers: { "content-type": "application/json" },
  body: { error: { code, message, ...(metadata && { metadata }) }, user_id: "user_2hjKs9LqT4" },
});

const fields = words(`
  model prompt n size aspect_ratio resolution quality background output_format output_compression
  input_references provider seed stream session_id trace user
`);
const ratios = words(`
  1:1 1:2 1:4 1:8 2:1 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 2.35:1 5:2 9:16 16:9 9:19.5 19.5:9 9:20 20:9
  9:21 21:9 auto
`);

/** What a model of one of the vendors behind it takes. */
interface Model {
  readonly id: string;
  readonly most: number;
  /** Has OpenAI's options, and a stream. */
  readonly openai: boolean;
  /** Takes sizes, and not only aspect ratios. */
  readonly sizes: boolean;
  readonly qualities?: readonly string[];
  /** Resolution tiers of a model that takes an aspect ratio. */
  readonly tiers?: readonly string[];
}

function oneOf(body: Readonly<Record<string, unknown>>, name: string, values: readonly string[]) {
  const value = body[name];
  if (value === undefined) return;
  if (!values.includes(String(value))) {
    throw error(400, `Invalid option at "${name}": expected one of ${values.join("|")}`);
  }
}

function parseRequest(body: Readonly<Record<string, unknown>>, model: Model): ParsedRequest {
  rejectUnknownFields(body, fields);
  const { prompt, n = 1, size, aspect_ratio, input_references } = body;
  if (body.model !== model.id) throw error(400, `${String(body.model)} is not a valid model ID`);
  if (typeof prompt !== "string" || prompt === "") throw error(400, "prompt is required");
  if (Number(n) > model.most) throw error(400, "This provider only supports generating 1 image");
  oneOf(body, "quality", ["auto", "low", "medium", "high", ...(model.qualities ?? [])]);
  oneOf(body, "resolution", model.tiers ?? []);
  oneOf(body, "background", ["auto", "transparent", "opaque"]);
  oneOf(body, "output_format", ["png", "jpeg", "webp", "svg"]);
  oneOf(body, "aspect_ratio", ratios);
  if (size !== undefined && !/^(\d+x\d+|\d+K|512)$/.test(String(size))) {
    throw error(400, `Invalid size: ${String(size)}`);
  }
  if (size !== undefined && !model.sizes) throw error(400, "This model does not take a size");
  // Parameters that a vendor lacks are ignored without an error: the gateway must not rely on it.
  const options = ["quality", "background", "output_format", "output_compression"];
  const sentOptions = ["user", ...(model.openai ? options : [])].flatMap((name) =>
    body[name] !== undefined ? [[name, body[name]]] : [],
  );
  return {
    prompt,
    n: Number(n),
    ...(size !== undefined && { size: String(size) }),
    ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
    options: Object.fromEntries(sentOptions),
    ...(Array.isArray(input_references) && { images: input_references.map(imageIn) }),
  };
}

function imageIn(reference: unknown): Uint8Array {
  const { type, image_url } = reference as { type?: string; image_url?: { url?: string } };
  const [, base64] = /^data:image\/\w+;base64,(.+)$/.exec(image_url?.url ?? "") ?? [];
  if (type !== "image_url" || !base64) throw error(400, "Invalid input_references");
  return Buffer.from(base64, "base64");
}

const created = 1_748_372_400;
const base64 = (image: Uint8Array): string => Buffer.from(image).toString("base64");
const usageOf = (generated: number) => ({
  prompt_tokens: 12,
  completion_tokens: 4175 * generated,
  total_tokens: 12 + 4175 * generated,
  cost: 0.04 * generated,
  completion_tokens_details: { image_tokens: 4175 * generated, reasoning_tokens: 0 },
  cost_details: { upstream_inference_cost: null },
  is_byok: false,
});

async function generate(
  request: VendorRequest,
  generator: ImageGenerator,
  model: Model,
): Promise<VendorResponse> {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw error(401, "User not found.");
  if (method !== "POST" || path !== "/api/v1/images") throw error(404, "Resource not found");
  const body = jsonOf(request);
  const parsed = parseRequest(body, model);
  const format = (body.output_format ?? "png") as "png" | "jpeg" | "webp";
  const generated = await generator.generate(parsed, format);
  // Models without streaming respond as usual.
  if (body.stream === true && model.openai) return streamed(generated);
  return {
    body: {
      created,
      data: generated.map((image) => ({
        b64_json: base64(image),
        media_type: `image/${format}`,
      })),
      usage: usageOf(generated.length),
    },
  };
}

/** It sends all partial images, whatever number was requested. */
function streamed(generated: readonly Uint8Array[]): VendorResponse {
  const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
  const frames = generated.flatMap((image) => [
    ...Array.from({ length: 3 }, (_, at) =>
      frame({
        type: "image_generation.partial_image",
        partial_image_index: at,
        b64_json: base64(image),
      }),
    ),
    frame({
      type: "image_generation.completed",
      b64_json: base64(image),
      created,
      media_type: "image/png",
      usage: usageOf(1),
    }),
  ]);
  return {
    headers: { "content-type": "text/event-stream" },
    body: `: OPENROUTER PROCESSING\n\n${frames.join("")}data: [DONE]\n\n`,
  };
}

const refusals = (model: string): FakeVendor["refusals"] => [
  { ...error(401, "User not found."), kind: "upstream_credentials" },
  {
    ...error(402, "Insufficient credits. Add more using https://openrouter.ai/credits"),
    kind: "insufficient_quota",
  },
  { ...error(400, `${model} is not a valid model ID`), kind: "model_not_found" },
  { ...error(404, `No endpoints found for ${model}.`), kind: "model_not_found" },
  { ...error(400, "Invalid request parameters"), kind: "upstream_rejected" },
  {
    ...error(403, `${model} requires moderation. Your input was flagged for "violence".`, {
      reasons: ["violence"],
      flagged_input: "an otter",
      provider_name: "OpenAI",
      model_slug: model,
    }),
    kind: "moderation_blocked",
  },
  {
    ...error(400, "Provider returned error", {
      raw: JSON.stringify({
        error: {
          message: "Your request was rejected by the safety system.",
          type: "image_generation_user_error",
          param: null,
          code: "moderation_blocked",
        },
      }),
      provider_name: "OpenAI",
    }),
    kind: "moderation_blocked",
  },
  {
    ...error(403, "Only management keys can perform this operation"),
    kind: "upstream_forbidden",
  },
  {
    ...error(429, "Rate limit exceeded"),
    headers: { "content-type": "application/json", "retry-after": "12" },
    kind: "upstream_rate_limit",
  },
  { ...error(502, "Provider returned error"), kind: "upstream_error" },
  { ...error(524, "Request timed out. Please try again later."), kind: "upstream_timeout" },
  { ...error(529, "Provider returned error"), kind: "upstream_overloaded" },
];

const caseOf = (name: string, model: Model): FakeVendor => ({
  name,
  kind: "openrouter",
  model: model.id,
  config: { apiKey: key },
  basePath: "/api/v1",
  operations: ["generations", "edits"],
  source: "https://www.npmjs.com/package/@openrouter/sdk 1.3.19, ImageGenerationRequest",
  open: (generator) => (request) => generate(request, generator, model),
  refusals: refusals(model.id),
});

export const openrouter: readonly FakeVendor[] = [
  caseOf("openrouter-openai", {
    id: "openai/gpt-image-2.5-sunburst",
    most: 10,
    openai: true,
    sizes: true,
    qualities: ["xhigh", "max"],
  }),
  caseOf("openrouter-google", {
    id: "google/gemini-2.5-flash-image",
    most: 1,
    openai: false,
    sizes: false,
  }),
  caseOf("openrouter-nano-banana", {
    id: "google/gemini-nano-banana-2.1",
    most: 1,
    openai: false,
    sizes: false,
    tiers: ["1K", "2K", "4K"],
  }),
  caseOf("openrouter-flux", {
    id: "black-forest-labs/flux.2-pro",
    most: 1,
    openai: false,
    sizes: true,
  }),
];
