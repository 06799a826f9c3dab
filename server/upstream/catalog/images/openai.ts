/**
 * Capabilities of OpenAI's image models. A request is rejected only on OpenAI's own evidence: its specification, SDKs,
 * guides or error messages. Options with any other evidence are `undocumentedOptions`, and the upstream decides.
 */
import {
  type ImageCapabilities,
  type SizeRule,
  unrestrictedImages,
} from "../../image-capabilities.ts";

/** Catalog facts of one image model, independent of the upstream that serves it. */
interface KnownImage {
  readonly name: string;
  /** Other names of the same model. */
  readonly also?: readonly string[];
  readonly capabilities: ImageCapabilities;
}

const tiers = ["low", "medium", "high", "auto"];
const formats = ["png", "jpeg", "webp"];
const presets = ["1024x1024", "1024x1536", "1536x1024", "auto"];

/** Options of GPT image models. None supports `response_format`: they always return base64. */
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

/**
 * SDK for Node 7.53.0, the fields' documentation: a gif "requires access to the GIF preview for the selected model",
 * and for `svg` and `complexity` no model is named. Only third parties document which models support them
 * (docs.comfy.org, apidog.com). SVG edits: openai-python 3.51.0 (2026-11-17) has them, "SVG output requires a supported
 * image model and project access"; the SDK for Node 7.55.0 does not, so the upstream decides.
 */
const undocumented = {
  output_format: ["gif", "svg"],
  complexity: ["low", "medium", "high"],
  frame_count: "any",
  frame_duration_ms: "any",
  svg: "any",
} as const;

const gpt: ImageCapabilities = {
  maxImages: 10,
  takes: gptTakes,
  undocumentedOptions: undocumented,
  sizes: { list: presets },
  // "Compression less than 100 is not supported for PNG output format", and png is the default.
  compresses: ["jpeg", "webp"],
  // "SVG output requires `n=1` and cannot use streaming, partial images, or output compression."
  singleFormats: ["svg"],
  maxPrompt: 32_000,
  streams: true,
  edits: gptEdits,
};

/**
 * The specification: "divisible by 16", an "aspect ratio between 1:3 and 3:1", at most 3840x2160. OpenAI's own program
 * (github.com/openai/codex, codex-rs/skills, imagegen/references/image-api.md): 655,360 to 8,294,400 pixels; an error of
 * the API says "below the current minimum pixel budget".
 */
const anySize: SizeRule = {
  multipleOf: 16,
  minEdge: 16,
  maxEdge: 3840,
  minPixels: 655_360,
  maxPixels: 3840 * 2160,
  maxRatio: 3,
};

const fidelity = { input_fidelity: ["high", "low"] } as const;
const laterCapabilities = { ...gpt, sizes: { rule: anySize } } as const;
/**
 * The SDK names models that support `input_fidelity`, and gpt-image-2 as one that does not. It does not mention later
 * models.
 */
const unnamedFidelity = { input_fidelity: ["high", "low"] } as const;
/**
 * openai-python 3.51.0, `markup`: "Supports GPT Image 2.5". OpenRouter's reference names gpt-image-2.6 (2026-11-17).
 */
const withMarkup = { ...laterCapabilities, edits: { ...gptEdits, markup: true } } as const;
const laterTiers = ["low", "medium", "high", "xhigh", "max", "auto"];

const animationTakes = {
  ...gptTakes,
  quality: laterTiers,
  output_format: [...formats, "gif"],
  complexity: ["low", "medium", "high"],
  frame_count: "any",
  frame_duration_ms: "any",
} as const;

/** For unknown models with a known name prefix: the capabilities that OpenAI documents for the family. */
export const laterGpt: ImageCapabilities = {
  ...unrestrictedImages,
  takes: Object.fromEntries(
    Object.entries(unrestrictedImages.takes).filter(
      ([name]) => name !== "response_format" && name !== "style",
    ),
  ),
};

// Facts: github.com/openai/openai-openapi and the official SDK for Node 7.53.0, ImageModel and the fields'
// documentation.
export const openaiImageModels: readonly KnownImage[] = [
  {
    name: "dall-e-2",
    capabilities: {
      maxImages: 10,
      takes: { response_format: ["url", "b64_json"], user: "any" },
      // The only quality of this model, which has no `quality` field.
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
    capabilities: {
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
  {
    name: "gpt-image-1",
    capabilities: { ...gpt, takes: { ...gptTakes, ...fidelity } },
  },
  {
    name: "gpt-image-1-mini",
    capabilities: { ...gpt, takes: { ...gptTakes, input_fidelity: ["low"] } },
  },
  {
    name: "gpt-image-1.5",
    also: ["gpt-image-1.5-2025-12-16", "chatgpt-image-latest"],
    capabilities: { ...gpt, takes: { ...gptTakes, ...fidelity } },
  },
  {
    name: "gpt-image-2",
    also: ["gpt-image-2-2026-04-21"],
    capabilities: {
      ...laterCapabilities,
      // developers.openai.com/api/docs/guides/image-generation: it always uses high input fidelity, and refuses the
      // option.
      always: { input_fidelity: "high" },
      takes: { ...gptTakes, background: ["opaque", "auto"] },
      // The SDK documents a transparent background as a preview (2026-11-06). A third party reports that the preview
      // ended on 2026-09-30: docs.apiyi.com/en/live/2026-10/gpt-image-2-transparent-shutdown, 21 refused requests on
      // 2026-10-15.
      undocumentedOptions: { ...undocumented, background: ["transparent"] },
    },
  },
  {
    name: "gpt-image-2.5",
    also: [
      "gpt-image-2.5-sunburst",
      "gpt-image-2.5-flare",
      "gpt-image-2.5-sunburst-2026-09-08",
      "gpt-image-2.5-flare-2026-09-08",
    ],
    capabilities: {
      ...withMarkup,
      takes: { ...gptTakes, quality: laterTiers },
      undocumentedOptions: { ...undocumented, ...unnamedFidelity },
    },
  },
  {
    name: "gpt-image-2.6",
    also: ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
    capabilities: {
      ...withMarkup,
      takes: { ...animationTakes, output_format: [...formats, "gif", "svg"], svg: "any" },
      undocumentedOptions: unnamedFidelity,
      // Its sizes are documented as flexible, without a rule.
      sizes: "any",
    },
  },
];
