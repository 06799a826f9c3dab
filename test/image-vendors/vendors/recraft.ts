/** Fake of Recraft: JSON for generations, forms for edits, aspect ratios for sizes, and units of a tenth of a cent. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { toBase64 } from "./data-url.ts";
import { type ReadForm, readForm } from "./form-request.ts";

const key = "recraftrecraftrecraft0123456789abcdef";

const refusal = (status: number, code: string, message: string): VendorResponse => ({
  status,
  headers: { "x-recraft-requestid": "0b6f0c0e" },
  body: { code, message },
});

const invalid = (message: string): VendorResponse =>
  refusal(400, "invalid_request_parameter", message);

const wrongKey = refusal(401, "unauthorized", "Unauthorized");
const noModel = invalid("invalid model");

/** external.api.recraft.ai, its own OpenAPI document: GenerateImageRequestBase and TransformImageRequestBase. */
const generationFields = words(`
  prompt model n response_format image_format style style_id style_match substyle negative_prompt
  random_seed controls text_layout creativity expire block_nsfw calculate_features
`);

const shapes = /^(1:1|2:1|1:2|3:2|2:3|4:3|3:4|5:4|4:5|6:10|14:10|10:14|16:9|9:16)$/;

interface Rules {
  readonly model: string;
  /** Only V3 fills holes. */
  readonly fills: boolean;
}

const open =
  (rules: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey;
    if (method !== "POST") throw refusal(405, "method_not_allowed", "method not allowed");
    switch (path) {
      case "/v1/images/generations": {
        const body = jsonOf(request, [
          ...generationFields,
          "size",
          "upscale",
          "style_reference_urls",
        ]);
        const { size } = body;
        if (size !== undefined && !shapes.test(String(size))) throw invalid("invalid size");
        const aspect = typeof size === "string" && { aspect: size };
        return respond(body, { ...aspect }, rules, generator, request);
      }
      case "/v1/images/imageToImage": {
        const form = await readForm(request);
        rejectUnknownFields(named(form), [...generationFields, "image", "strength"]);
        const strength = Number(form.texts.strength);
        if (!(strength >= 0 && strength <= 1)) throw invalid("strength is required");
        return respond(form.texts, { images: one(form, "image") }, rules, generator, request);
      }
      case "/v1/images/inpaint": {
        const form = await readForm(request);
        rejectUnknownFields(named(form), [...generationFields, "image", "mask"]);
        if (!rules.fills) throw invalid("model does not support inpainting");
        const [mask = new Uint8Array()] = one(form, "mask");
        return respond(form.texts, { images: one(form, "image"), mask }, rules, generator, request);
      }
      default:
        throw refusal(404, "not_found", "not found");
    }
  };

const named = ({ names }: ReadForm): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, true]));

function one(form: ReadForm, name: string): readonly Uint8Array[] {
  const files = form.files(name);
  if (files.length !== 1) throw invalid(`${name} is required`);
  return files;
}

async function respond(
  fields: Readonly<Record<string, unknown>>,
  sources: object,
  { model }: Rules,
  generator: ImageGenerator,
  { origin }: VendorRequest,
): Promise<VendorResponse> {
  if (fields.model !== model) throw noModel;
  const { prompt, response_format = "url", image_format = "webp" } = fields;
  const n = Number(fields.n ?? 1);
  if (typeof prompt !== "string") throw invalid("prompt is required");
  if (!Number.isInteger(n) || n < 1 || n > 6) throw invalid("n must be between 1 and 6");
  if (image_format !== "webp" && image_format !== "png") throw invalid("invalid image_format");
  const options = fields.image_format !== undefined && { options: { output_format: image_format } };
  const generated = await generator.generate({ prompt, n, ...sources, ...options }, image_format);
  return {
    headers: { "x-recraft-requestid": "0b6f0c0e" },
    body: {
      created: 1_760_335_349,
      credits: 40 * n,
      data: generated.map((image, at) => ({
        image_id: `c18a1988-45e7-4c00-82c4-4ad7d3dbce3${at}`,
        ...(response_format === "b64_json"
          ? { b64_json: toBase64(image) }
          : { url: generator.link(image, origin) }),
      })),
    },
  };
}

/** Its documentation has no errors; `prompt_is_improper` and 402 are its users'. */
const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...noModel },
  {
    kind: "moderation_blocked",
    ...refusal(400, "prompt_is_improper", "Prompt was blocked by our content filter"),
  },
  { kind: "insufficient_quota", ...refusal(402, "not_enough_credits", "not enough credits") },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "rate_limit_exceeded", "too many requests"),
    headers: { "retry-after": "2" },
  },
  { kind: "upstream_rejected", ...invalid("prompt is too long") },
  { kind: "upstream_overloaded", ...refusal(503, "unavailable", "service unavailable") },
];

const vendor = (name: string, rules: Rules): FakeVendor => ({
  name,
  kind: "recraft",
  model: rules.model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations", "edits"],
  source: "https://www.recraft.ai/docs/api-reference, and its OpenAPI document",
  open: open(rules),
  refusals,
});

export const recraft: readonly FakeVendor[] = [
  vendor("recraft-v3", { model: "recraftv3", fills: true }),
  vendor("recraft-v4", { model: "recraftv4_1", fills: false }),
];
