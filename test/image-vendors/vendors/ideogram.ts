/** Fake of Ideogram with its three API versions: links that expire, and the revised prompt. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  jsonOf,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { readForm } from "./form-request.ts";

const key = "ideogramideogramideogram_0123456789";

const refusal = (status: number, error: string, others: object = {}): VendorResponse => ({
  status,
  body: { error, ...others },
});

const invalid = (error: string): VendorResponse => refusal(400, error);
const wrongKey = refusal(401, "Not authorized to generate an image.");
const noModel = refusal(404, "Not found");

type Texts = Readonly<Record<string, unknown>>;

/** What an address reads, and how it understands it. */
interface EndpointSpec {
  readonly fields: readonly string[];
  /** The required image field. */
  readonly image?: string;
  readonly mostImages?: number;
  readonly mask?: "needed" | "allowed";
  /** Fields are nested in this one. */
  readonly within?: string;
  /** Parses the aspect ratio or the size. Throws the vendor's error. */
  readonly measure: (texts: Texts) => { readonly aspect?: string; readonly size?: string };
  readonly speeds?: readonly string[];
  readonly qualities?: readonly string[];
}

const ratio = (separator: "x" | "_", texts: Texts): { aspect?: string } => {
  const aspectRatio = texts.aspect_ratio;
  if (aspectRatio === undefined) return {};
  const [, across, down] =
    new RegExp(`^(?:ASPECT_)?(\\d+)${separator}(\\d+)$`).exec(String(aspectRatio)) ?? [];
  if (!across || !down) throw invalid(`Unsupported aspect ratio: ${String(aspectRatio)}`);
  return { aspect: `${across}:${down}` };
};

const speedTiers: Readonly<Record<string, string>> = {
  turbo: "low",
  default: "medium",
  quality: "high",
};

function optionsOf(
  texts: Texts,
  { speeds = [], qualities = [] }: EndpointSpec,
): Record<string, unknown> {
  const { rendering_speed, quality } = texts;
  if (rendering_speed !== undefined && !speeds.includes(String(rendering_speed))) {
    throw invalid("Unsupported rendering speed");
  }
  if (quality !== undefined && !qualities.includes(String(quality))) {
    throw invalid("Unsupported quality");
  }
  const options = quality ?? speedTiers[String(rendering_speed).toLowerCase()];
  return options === undefined ? {} : { quality: options };
}

const open =
  (endpoints: Readonly<Record<string, EndpointSpec>>, model?: string): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (headers.get("api-key") !== key) throw wrongKey;
    const spec = method === "POST" ? endpoints[path] : undefined;
    if (!spec) throw noModel;
    const parsed = await read(request, spec);
    const { texts } = parsed;
    rejectUnknownFields(texts, spec.fields);
    if (model !== undefined && texts.model !== model) throw invalid("Unknown model");
    const { prompt } = texts;
    const n = Number(texts.num_images ?? 1);
    if (typeof prompt !== "string") throw invalid("prompt is required");
    if (!Number.isInteger(n) || n < 1 || n > 8) throw invalid("num_images must be from 1 to 8");
    const measured = spec.measure(texts);
    const options = optionsOf(texts, spec);
    const generated = await generator.generate({
      prompt,
      n,
      ...measured,
      ...parsed.sources,
      options,
    });
    return {
      body: {
        ...(path.startsWith("/v2/")
          ? { generation_kind: "sampling", generation_id: "xtdZiqPwRxqY1Y7NExFmzB", seed: 12345 }
          : { created: "2026-10-23T04:56:07+00:00", response_type: "url" }),
        data: generated.map((image, at) => ({
          url: generator.link(image, origin),
          prompt: `${prompt}, in great detail`,
          resolution: "1024x1024",
          is_image_safe: true,
          seed: 12345 + at,
        })),
      },
    };
  };

async function read(
  request: VendorRequest,
  { image, mostImages = 1, mask, within }: EndpointSpec,
): Promise<{ readonly texts: Texts; readonly sources: object }> {
  if (image === undefined || /json/.test(request.headers.get("content-type") ?? "")) {
    const body = jsonOf(request);
    return { texts: unwrapped(body, within), sources: {} };
  }
  const form = await readForm(request);
  const images = form.files(image);
  const [shown] = form.files("mask");
  if (images.length < 1 || images.length > mostImages) throw invalid(`${image} is required`);
  if ((mask === "needed" && !shown) || (shown && !mask)) throw invalid("mask");
  const others = form.names.filter((name) => name !== image && name !== "mask");
  if (others.some((name) => !(name in form.texts))) throw invalid("unexpected file");
  return {
    texts: unwrapped(form.texts, within),
    sources: { images, ...(shown && { mask: shown }) },
  };
}

function unwrapped(fields: Texts, within: string | undefined): Texts {
  if (within === undefined) return fields;
  rejectUnknownFields(fields, [within]);
  const inner = fields[within];
  return (typeof inner === "string" ? JSON.parse(inner) : inner) as Texts;
}

const always = ["prompt", "num_images", "seed"];
const small = ["turbo", "default", "quality"];

const exact = (allowed: (size: string) => boolean, texts: Texts): { size?: string } => {
  if (texts.size === undefined) return {};
  const size = String(texts.size);
  if (!allowed(size)) throw invalid(`Unsupported size: ${size}`);
  return { size };
};

const presets = /^(1024x1024|896x1120|1120x896|832x1248|1248x832|2048x2048|1664x2496|2496x1664)$/;

function in32(size: string): boolean {
  const [width = 0, height = 0] = size.split("x").map(Number);
  return width % 32 === 0 && height % 32 === 0 && width * height <= 2048 * 2048;
}

const modern = [...always, "magic_prompt", "enable_copyright_detection", "async", "private"];

/** One endpoint for generations and edits: with images it takes a form, and other sizes. */
const ideogram45: EndpointSpec = {
  fields: [...modern, "size", "quality"],
  image: "images",
  mostImages: 5,
  mask: "allowed",
  qualities: ["very_low", "low", "medium", "high"],
  measure: (texts) => exact((size) => presets.test(size) || in32(size), texts),
};

const styled = ["negative_prompt", "style_type", "style_preset", "style_codes", "color_palette"];

const shaped = (fields: readonly string[], speeds: readonly string[]): EndpointSpec => ({
  fields: [...fields, ...styled, "aspect_ratio", "resolution", "rendering_speed"],
  speeds,
  measure: (texts) => ratio("x", texts),
});

const remix = (spec: EndpointSpec): EndpointSpec => ({
  ...spec,
  fields: [...spec.fields, "image_weight"],
  image: "image",
});

const inpaint = (spec: EndpointSpec): EndpointSpec => ({
  ...spec,
  fields: spec.fields.filter((name) => name !== "aspect_ratio" && name !== "resolution"),
  image: "image",
  mask: "needed",
  measure: () => ({}),
});

const v2 = shaped(modern, small);
const v1 = shaped(
  [...always, "magic_prompt", "custom_model_uri"],
  ["FLASH", "TURBO", "DEFAULT", "QUALITY"],
);

const oldFields = words(`
  prompt model num_images seed aspect_ratio resolution magic_prompt_option style_type
  negative_prompt color_palette
`);
const old: EndpointSpec = {
  fields: oldFields,
  within: "image_request",
  measure: (texts) => ratio("_", texts),
};

const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...noModel },
  {
    kind: "moderation_blocked",
    ...refusal(
      422,
      "Prompt provided failed safety check due to the inclusion of prohibited content.",
    ),
  },
  {
    kind: "insufficient_quota",
    ...refusal(402, "Insufficient credits", { reject_reason: "insufficient_funds" }),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "Too many requests."),
    headers: { "retry-after": "1" },
  },
  { kind: "upstream_rejected", ...invalid("Invalid input provided.") },
  {
    kind: "upstream_overloaded",
    ...refusal(503, "Image generation service temporarily unavailable."),
  },
];

const vendor = (
  name: string,
  model: string,
  endpoints: Readonly<Record<string, EndpointSpec>>,
  inBody = false,
): FakeVendor => ({
  name,
  kind: "ideogram",
  model,
  config: { apiKey: key },
  operations: ["generations", "edits"],
  source: "https://developer.ideogram.ai/openapi.json, as of October 2026",
  open: open(endpoints, inBody ? model : undefined),
  refusals,
});

export const ideogram: readonly FakeVendor[] = [
  vendor("ideogram-4-5", "ideogram-4-5", { "/v2/image/generate/ideogram-4-5": ideogram45 }),
  vendor("ideogram-3", "ideogram-3", {
    "/v2/image/generate/ideogram-3": v2,
    "/v2/image/remix/ideogram-3": remix(v2),
    "/v2/image/inpaint/ideogram-3": inpaint(v2),
  }),
  vendor("ideogram-v1-api", "ideogram-v3", {
    "/v1/ideogram-v3/generate": v1,
    "/v1/ideogram-v3/remix": remix(v1),
    "/v1/ideogram-v3/inpaint": inpaint(v1),
  }),
  vendor(
    "ideogram-legacy",
    "V_2",
    {
      "/generate": old,
      "/remix": { ...old, fields: [...oldFields, "image_weight"], image: "image_file" },
      "/edit": {
        fields: oldFields.filter((name) => name !== "aspect_ratio"),
        image: "image_file",
        mask: "needed",
        measure: () => ({}),
      },
    },
    true,
  ),
];
