/** OpenRouter's Image API: OpenRouterTeam/typescript-sdk, .speakeasy/in.openapi.yaml, and its page on errors. */
import {
  jsonOf,
  type Order,
  onlyKnown,
  type PictureVendor,
  type Studio,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

const key = "sk-or-v1-0123456789abcdef0123456789abcdef";

const error = (code: number, message: string, metadata?: object): VendorResponse => ({
  status: code,
  headers: { "content-type": "application/json" },
  body: { error: { code, message, ...(metadata && { metadata }) }, user_id: "user_2hjKs9LqT4" },
});

const fields = [
  ...["model", "prompt", "n", "size", "aspect_ratio", "resolution", "quality", "background"],
  ...["output_format", "output_compression", "input_references", "provider", "seed", "stream"],
  ...["session_id", "trace", "user"],
];
const ratios = [
  ...["1:1", "1:2", "1:4", "1:8", "2:1", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1"],
  ...["2.35:1", "5:2", "9:16", "16:9", "9:19.5", "19.5:9", "9:20", "20:9", "9:21", "21:9", "auto"],
];

/** What a model of one of the vendors behind it takes. */
interface Model {
  readonly id: string;
  readonly most: number;
  /** Has OpenAI's options, and a stream. */
  readonly openai: boolean;
  /** Knows sizes, and not only shapes. */
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

function orderOf(body: Readonly<Record<string, unknown>>, model: Model): Order {
  onlyKnown(body, fields);
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
  // What a vendor has no word for is passed over in silence: the gateway must not rely on it.
  const options = ["quality", "background", "output_format", "output_compression"];
  const told = ["user", ...(model.openai ? options : [])].flatMap((name) =>
    body[name] !== undefined ? [[name, body[name]]] : [],
  );
  return {
    prompt,
    n: Number(n),
    ...(size !== undefined && { size: String(size) }),
    ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
    options: Object.fromEntries(told),
    ...(Array.isArray(input_references) && { images: input_references.map(pictureIn) }),
  };
}

function pictureIn(reference: unknown): Uint8Array {
  const { type, image_url } = reference as { type?: string; image_url?: { url?: string } };
  const [, base64] = /^data:image\/\w+;base64,(.+)$/.exec(image_url?.url ?? "") ?? [];
  if (type !== "image_url" || !base64) throw error(400, "Invalid input_references");
  return Buffer.from(base64, "base64");
}

const created = 1_748_372_400;
const base64 = (picture: Uint8Array): string => Buffer.from(picture).toString("base64");
const usageOf = (pictures: number) => ({
  prompt_tokens: 12,
  completion_tokens: 4175 * pictures,
  total_tokens: 12 + 4175 * pictures,
  cost: 0.04 * pictures,
  completion_tokens_details: { image_tokens: 4175 * pictures, reasoning_tokens: 0 },
  cost_details: { upstream_inference_cost: null },
  is_byok: false,
});

async function draw(request: VendorRequest, studio: Studio, model: Model): Promise<VendorResponse> {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw error(401, "User not found.");
  if (method !== "POST" || path !== "/api/v1/images") throw error(404, "Resource not found");
  const body = jsonOf(request);
  const order = orderOf(body, model);
  const format = (body.output_format ?? "png") as "png" | "jpeg" | "webp";
  const pictures = await studio.take(order, format);
  // Those without a stream answer as ever.
  if (body.stream === true && model.openai) return streamed(pictures);
  return {
    body: {
      created,
      data: pictures.map((picture) => ({
        b64_json: base64(picture),
        media_type: `image/${format}`,
      })),
      usage: usageOf(pictures.length),
    },
  };
}

/** It sends as many previews as there are, whatever the caller likes. */
function streamed(pictures: readonly Uint8Array[]): VendorResponse {
  const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
  const frames = pictures.flatMap((picture) => [
    ...Array.from({ length: 3 }, (_, at) =>
      frame({
        type: "image_generation.partial_image",
        partial_image_index: at,
        b64_json: base64(picture),
      }),
    ),
    frame({
      type: "image_generation.completed",
      b64_json: base64(picture),
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

const refusals = (model: string): PictureVendor["refusals"] => [
  { ...error(401, "User not found."), fault: "upstream_credentials" },
  {
    ...error(402, "Insufficient credits. Add more using https://openrouter.ai/credits"),
    fault: "insufficient_quota",
  },
  { ...error(400, `${model} is not a valid model ID`), fault: "model_not_found" },
  { ...error(404, `No endpoints found for ${model}.`), fault: "model_not_found" },
  { ...error(400, "Invalid request parameters"), fault: "upstream_rejected" },
  {
    ...error(403, `${model} requires moderation. Your input was flagged for "violence".`, {
      reasons: ["violence"],
      flagged_input: "an otter",
      provider_name: "OpenAI",
      model_slug: model,
    }),
    fault: "moderation_blocked",
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
    fault: "moderation_blocked",
  },
  {
    ...error(403, "Only management keys can perform this operation"),
    fault: "upstream_forbidden",
  },
  {
    ...error(429, "Rate limit exceeded"),
    headers: { "content-type": "application/json", "retry-after": "12" },
    fault: "upstream_rate_limit",
  },
  { ...error(502, "Provider returned error"), fault: "upstream_error" },
  { ...error(524, "Request timed out. Please try again later."), fault: "upstream_timeout" },
  { ...error(529, "Provider returned error"), fault: "upstream_overloaded" },
];

const caseOf = (name: string, model: Model): PictureVendor => ({
  name,
  kind: "openrouter",
  model: model.id,
  config: { apiKey: key },
  basePath: "/api/v1",
  operations: ["generations", "edits"],
  source: "https://www.npmjs.com/package/@openrouter/sdk 1.3.19, ImageGenerationRequest",
  open: (studio) => (request) => draw(request, studio, model),
  refusals: refusals(model.id),
});

export const openrouter: readonly PictureVendor[] = [
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
