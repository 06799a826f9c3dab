/** What OpenAI's image models can do, by OpenAI's own specification and what its server was seen to refuse. */
import { type ImageTraits, openPictures, type SizeRule } from "../../image-traits.ts";
import type { KnownImage } from "./known-image.ts";

const tiers = ["low", "medium", "high", "auto"];
const formats = ["png", "jpeg", "webp"];
const presets = ["1024x1024", "1536x1024", "1024x1536", "auto"];

/** What every GPT image model takes. `response_format` none of them does: they answer in base64. */
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
  files: true,
  maxBytes: 50 * 1024 * 1024,
} as const;

const gpt: ImageTraits = {
  maxImages: 10,
  takes: gptTakes,
  sizes: { list: presets },
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
const laterTiers = ["low", "medium", "high", "xhigh", "max", "auto"];

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
      sizes: { list: ["256x256", "512x512", "1024x1024"] },
      maxPrompt: 1000,
      edits: {
        maxImages: 1,
        mask: "transparent",
        reads: ["image/png"],
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
    also: ["chatgpt-image-latest"],
    traits: { ...gpt, takes: { ...gptTakes, ...fidelity } },
  },
  { name: "gpt-image-2", also: ["gpt-image-2-2026-04-21"], traits: later },
  {
    name: "gpt-image-2.5",
    also: [
      ...["gpt-image-2.5-sunburst", "gpt-image-2.5-flare"],
      ...["gpt-image-2.5-sunburst-2026-09-08", "gpt-image-2.5-flare-2026-09-08"],
    ],
    traits: { ...later, takes: { ...gptTakes, quality: laterTiers } },
  },
  {
    name: "gpt-image-2.6",
    also: ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
    traits: {
      ...later,
      takes: {
        ...gptTakes,
        quality: laterTiers,
        output_format: [...formats, "gif", "svg"],
        complexity: ["low", "medium", "high"],
        frame_count: "any",
        frame_duration_ms: "any",
        svg: "any",
      },
      // Its sizes are called flexible; the rule is not told.
      sizes: "any",
    },
  },
];
