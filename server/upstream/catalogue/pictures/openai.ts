/** What OpenAI's image models can do, by OpenAI's own specification and what its server was seen to refuse. */
import { type ImageTraits, openPictures, type SizeRule } from "../../image-traits.ts";
import type { KnownImage } from "./known-image.ts";

const tiers = ["low", "medium", "high", "auto"];
const formats = ["png", "jpeg", "webp"];
const presets = ["1024x1024", "1536x1024", "1024x1536", "auto"];

/** What GPT image models take. `response_format` none of them does: they answer in base64. */
const gptTakes = {
  quality: tiers,
  background: ["transparent", "opaque", "auto"],
  moderation: ["low", "auto"],
  output_format: formats,
  output_compression: "any",
  partial_images: "any",
  user: "any",
  safety_identifier: "any",
} as const;

const gptEdits = {
  maxImages: 16,
  mask: "transparent",
  links: true,
  fileIds: true,
  maxBytes: 50 * 1024 * 1024,
} as const;

const gpt: ImageTraits = {
  maxImages: 10,
  takes: gptTakes,
  sizes: { list: presets },
  // "Compression less than 100 is not supported for PNG output format", and png is what comes unasked.
  compresses: ["jpeg", "webp"],
  maxPrompt: 32_000,
  streams: true,
  edits: gptEdits,
};

/** Learn.microsoft.com, azure/ai-services/openai: dall-e.md; the numbers behind "current pixel and edge limits". */
const anySize: SizeRule = {
  multipleOf: 16,
  minEdge: 16,
  maxEdge: 3840,
  minPixels: 655_360,
  maxPixels: 8_294_400,
  maxRatio: 3,
};

const fidelity = { input_fidelity: ["high", "low"] } as const;
/** developers.openai.com/api/docs/guides/image-generation: these look closely at every picture, and want no word about it. */
const later = {
  ...gpt,
  sizes: { rule: anySize },
  always: { input_fidelity: "high" },
} as const;
/** `markup`, of which the specification says: "Supports GPT Image 2.5". */
const marked = { ...later, edits: { ...gptEdits, files: true } } as const;
const laterTiers = ["low", "medium", "high", "xhigh", "max", "auto"];

const movingTakes = {
  ...gptTakes,
  quality: laterTiers,
  output_format: [...formats, "gif"],
  complexity: ["low", "medium", "high"],
  frame_count: "any",
  frame_duration_ms: "any",
} as const;

/** Of names that are not known yet, but begin like those that are: as OpenAI says it. */
export const laterGpt: ImageTraits = {
  ...openPictures,
  takes: Object.fromEntries(
    Object.entries(openPictures.takes).filter(
      ([name]) => name !== "response_format" && name !== "style",
    ),
  ),
};

// Facts: github.com/openai/openai-openapi and the official SDK for Node 7.53.0, ImageModel and the fields' documentation.
export const openaiPictures: readonly KnownImage[] = [
  {
    name: "dall-e-2",
    traits: {
      maxImages: 10,
      takes: { response_format: ["url", "b64_json"], user: "any" },
      // The only one it has, and it knows no such field.
      always: { quality: "standard" },
      sizes: { list: ["256x256", "512x512", "1024x1024"] },
      maxPrompt: 1000,
      edits: {
        maxImages: 1,
        mask: "transparent",
        reads: ["image/png"],
        // "Invalid input image - format must be in ['RGBA', 'LA', 'L'], got RGB."
        needsAlpha: true,
        maxBytes: 4 * 1024 * 1024,
      },
    },
  },
  {
    name: "dall-e-3",
    traits: {
      maxImages: 1,
      takes: {
        quality: ["standard", "hd"],
        style: ["vivid", "natural"],
        response_format: ["url", "b64_json"],
        user: "any",
      },
      sizes: { list: ["1024x1024", "1792x1024", "1024x1792"] },
      maxPrompt: 4000,
    },
  },
  { name: "gpt-image-1", traits: { ...gpt, takes: { ...gptTakes, ...fidelity } } },
  {
    name: "gpt-image-1-mini",
    traits: { ...gpt, takes: { ...gptTakes, input_fidelity: ["low"] } },
  },
  {
    name: "gpt-image-1.5",
    also: ["gpt-image-1.5-2025-12-16", "chatgpt-image-latest"],
    traits: { ...gpt, takes: { ...gptTakes, ...fidelity } },
  },
  {
    name: "gpt-image-2",
    also: ["gpt-image-2-2026-04-21"],
    traits: {
      ...later,
      // The specification calls a transparent one a preview, which began on 2026-08-20. It has ended on 2026-09-30:
      // docs.apiyi.com/en/live/2026-10/gpt-image-2-transparent-shutdown, where each of 21 calls was refused on 2026-10-15;
      // OpenAI's own cookbook (openai/openai-cookbook#3085) went over to 2.5 for it.
      takes: { ...gptTakes, background: ["opaque", "auto"] },
    },
  },
  {
    name: "gpt-image-2.5",
    also: [
      ...["gpt-image-2.5-sunburst", "gpt-image-2.5-flare"],
      ...["gpt-image-2.5-sunburst-2026-09-08", "gpt-image-2.5-flare-2026-09-08"],
    ],
    traits: { ...marked, takes: { ...gptTakes, quality: laterTiers } },
  },
  {
    name: "gpt-image-2.6",
    also: ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
    traits: {
      ...marked,
      takes: { ...movingTakes, output_format: [...formats, "gif", "svg"], svg: "any" },
      // Its sizes are called flexible; the rule is not told.
      sizes: "any",
    },
    // The same: "SVG edits are not supported".
    editing: { takes: movingTakes },
  },
];
