/** Capabilities of models on Replicate. Each model has its own input schema; the schemas of one vendor are similar. */
import { anyEdges, type ImageCapabilities, type Sizes } from "../../image-capabilities.ts";

interface ReplicateFamily {
  readonly sizes: Sizes;
  /** Fields without which width and height are ignored. */
  readonly custom?: Readonly<Record<string, string>>;
  /** `size`: as one text. If absent, as width and height. */
  readonly sizeField?: "size";
  /** The field for the number of images, and its maximum. The default is one. */
  readonly count?: readonly [field: string, max: number];
  /** Output formats, by OpenAI's names. */
  readonly formats?: readonly string[];
  /**
   * The field for the input images of an edit, its form, and the maximum number of images. If absent, the model does
   * not edit.
   */
  readonly source?: readonly [field: string, how: "list" | "one", max: number];
  readonly mask?: "white" | "black";
  readonly editsOnly?: true;
  /** Other options that it supports under OpenAI's names. */
  readonly takes?: ImageCapabilities["takes"];
}

const webpJpegPng = ["webp", "jpeg", "png"];
const jpegPng = ["jpeg", "png"];

const fluxShapes = [
  "1:1",
  "16:9",
  "21:9",
  "3:2",
  "2:3",
  "4:5",
  "5:4",
  "3:4",
  "4:3",
  "9:16",
  "9:21",
];
const geminiShapes = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
const imagenShapes = ["1:1", "9:16", "16:9", "3:4", "4:3"];
const qwenShapes = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"];
const ideogramShapes = [
  "1:3",
  "3:1",
  "1:2",
  "2:1",
  "9:16",
  "16:9",
  "10:16",
  "16:10",
  "2:3",
  "3:2",
  "3:4",
  "4:3",
  "4:5",
  "5:4",
  "1:1",
];
const lumaShapes = ["1:1", "3:4", "4:3", "9:16", "16:9", "9:21", "21:9"];

/** The fields of early diffusion models and of most community models: stability-ai/sdxl. */
const defaultFamily: ReplicateFamily = {
  sizes: anyEdges,
  source: ["image", "one", 1],
  mask: "white",
};

// Sources: the pages "Input schema" of replicate.com/OWNER/MODEL/versions/ID/api, by model.
const families: readonly (readonly [RegExp, ReplicateFamily])[] = [
  [
    /^openai\/gpt-image/,
    {
      sizes: { ratios: ["1:1", "3:2", "2:3"] },
      count: ["number_of_images", 10],
      formats: ["png", "jpeg", "webp"],
      source: ["input_images", "list", 16],
      takes: {
        quality: ["low", "medium", "high", "auto"],
        background: ["auto", "transparent", "opaque"],
        moderation: ["auto", "low"],
        output_compression: "any",
        input_fidelity: ["low", "high"],
        user: "any",
      },
    },
  ],
  // replicate.com/black-forest-labs/flux-2-pro/versions/285631b5…/api: `input_images`, "Maximum 8 images".
  // @ai-sdk/replicate 2.0.57 sends `input_image` and `input_image_2`, which that schema does not have.
  [
    /\/flux-2/,
    {
      sizes: { rule: { multipleOf: 32, minEdge: 256, maxEdge: 2048 } },
      custom: { aspect_ratio: "custom" },
      formats: webpJpegPng,
      source: ["input_images", "list", 8],
    },
  ],
  [
    /\/flux-kontext/,
    { sizes: { ratios: fluxShapes }, formats: jpegPng, source: ["input_image", "one", 1] },
  ],
  [
    /\/flux-fill-dev/,
    {
      sizes: { list: [] },
      count: ["num_outputs", 4],
      formats: webpJpegPng,
      source: ["image", "one", 1],
      mask: "white",
      editsOnly: true,
    },
  ],
  [
    /\/flux-fill/,
    {
      sizes: { list: [] },
      formats: jpegPng,
      source: ["image", "one", 1],
      mask: "white",
      editsOnly: true,
    },
  ],
  // Its `image_prompt` is a reference, not an image to edit.
  [/\/flux-1\.1-pro-ultra/, { sizes: { ratios: fluxShapes }, formats: jpegPng }],
  [
    /\/flux-(1\.1-)?pro/,
    {
      sizes: { rule: { multipleOf: 32, minEdge: 256, maxEdge: 1440 } },
      custom: { aspect_ratio: "custom" },
      formats: webpJpegPng,
    },
  ],
  [
    /\/flux-schnell/,
    { sizes: { ratios: fluxShapes }, count: ["num_outputs", 4], formats: webpJpegPng },
  ],
  [
    /\/flux-(dev|krea)/,
    {
      sizes: { ratios: fluxShapes },
      count: ["num_outputs", 4],
      formats: webpJpegPng,
      source: ["image", "one", 1],
    },
  ],
  [
    /\/nano-banana/,
    { sizes: { ratios: geminiShapes }, formats: jpegPng, source: ["image_input", "list", 14] },
  ],
  [
    /\/seedream-[4-9]/,
    {
      sizes: { rule: { multipleOf: 1, minEdge: 1024, maxEdge: 4096 } },
      custom: { size: "custom" },
      source: ["image_input", "list", 10],
    },
  ],
  [/\/imagen-/, { sizes: { ratios: imagenShapes }, formats: jpegPng }],
  [
    /\/ideogram-/,
    { sizes: { ratios: ideogramShapes }, source: ["image", "one", 1], mask: "black" },
  ],
  [
    /\/qwen-image-edit-(plus|2\d)/,
    {
      sizes: { ratios: qwenShapes },
      formats: webpJpegPng,
      source: ["image", "list", 3],
      editsOnly: true,
    },
  ],
  [
    /\/qwen-image-edit/,
    {
      sizes: { ratios: qwenShapes },
      formats: webpJpegPng,
      source: ["image", "one", 1],
      editsOnly: true,
    },
  ],
  [
    /\/qwen-image/,
    { sizes: { ratios: qwenShapes }, formats: webpJpegPng, source: ["image", "one", 1] },
  ],
  [/\/recraft-/, { sizes: "any", sizeField: "size" }],
  [
    /\/stable-diffusion-3/,
    { sizes: { ratios: fluxShapes }, formats: webpJpegPng, source: ["image", "one", 1] },
  ],
  [/\/sdxl/, { ...defaultFamily, count: ["num_outputs", 4] }],
  [/^luma\/photon/, { sizes: { ratios: lumaShapes } }],
];

export const replicateFamilyOf = (model: string): ReplicateFamily =>
  families.find(([name]) => name.test(model))?.[1] ?? defaultFamily;
