/**
 * The models behind Runway's text_to_image: runwayml 5.24.0, types/text_to_image_create_params.py, read on 2026-11-17.
 */
import type { ImageCapabilities } from "../../image-capabilities.ts";

interface RunwayModel {
  /** `ratio` of a request without a size. If absent, the field is not required. */
  readonly ratio?: string;
  /**
   * The sizes of an edit without a size, which gets the nearest to the first image: those of the model whose
   * resolution is of no higher class than its default. If absent, it chooses by itself.
   */
  readonly editSizes?: readonly string[];
  readonly takes?: ImageCapabilities["takes"];
  /** Maximum images per request. The default is one. */
  readonly count?: number;
  /** Maximum input images of an edit. If absent, it does not edit. */
  readonly references?: number;
  readonly editsOnly?: true;
  /** Fields of an edit besides the images. */
  readonly editFields?: Readonly<Record<string, unknown>>;
  readonly maxPrompt?: number;
}

const square = "1024:1024";

const sizesIn = (text: string): readonly string[] => text.trim().split(/\s+/);

const gen4Sizes = sizesIn(`
  1024x1024 1080x1080 1168x880 1360x768 1440x1080 1080x1440 1808x768 1920x1080 1080x1920 2112x912
  1280x720 720x1280 720x720 960x720 720x960 1680x720
`);
/** The class 1K, which is that of the default. A class of up to 4K may cost more. */
const geminiSizes = sizesIn(`
  1024x1024 1344x768 768x1344 1184x864 864x1184 1536x672 832x1248 1248x832 896x1152 1152x896
`);
const geminiLongSizes = [...geminiSizes, ...sizesIn("512x2048 2048x512 352x2816 2816x352")];
const flashLiteSizes = sizesIn(`
  1024x1024 848x1264 1264x848 896x1200 1200x896 928x1152 1152x928 768x1376 1376x768 1584x672
`);
const nanoBananaSizes = [...flashLiteSizes, ...sizesIn("512x2064 2064x512 352x2928 2928x352")];
const seedreamLiteSizes = sizesIn(`
  2048x2048 2304x1728 1728x2304 2848x1600 1600x2848 2496x1664 1664x2496 3136x1344
`);
/** Of one megapixel. Those of four cost twice as much: the comment of `ratio` in that file. */
const fiboSizes = sizesIn(`
  1024x1024 768x1152 1152x768 768x1024 1024x768 768x960 960x768 576x1024 1024x576
`);
const png = ["png", "jpeg"];
const later = ["low", "medium", "high", "xhigh", "max"];
const gptImage = { ratio: "auto", count: 10, references: 16 } as const;

// The number of input images of Seedream is that of its vendor: ../volcengine/families.ts.
const models: readonly (readonly [RegExp, RunwayModel])[] = [
  [
    /^gen4_image_turbo$/,
    {
      ratio: "1920:1080",
      editSizes: gen4Sizes,
      references: 3,
      editsOnly: true,
      maxPrompt: 1000,
    },
  ],
  [/^gen4_image$/, { ratio: "1920:1080", editSizes: gen4Sizes, references: 3, maxPrompt: 1000 }],
  [
    /^gpt_image_2$/,
    {
      ...gptImage,
      takes: {
        quality: ["low", "medium", "high", "auto"],
        background: ["transparent", "opaque", "auto"],
      },
      maxPrompt: 32_000,
    },
  ],
  [
    /^gpt_image_2_5_flare$/,
    { ...gptImage, takes: { quality: later, background: ["opaque", "auto"] } },
  ],
  [
    /^gpt_image_/,
    { ...gptImage, takes: { quality: later, background: ["transparent", "opaque", "auto"] } },
  ],
  [/^gemini_2\.5_flash$/, { ratio: square, editSizes: geminiSizes, references: 3 }],
  [/^gemini_image3_pro$/, { ratio: square, editSizes: geminiSizes, references: 14 }],
  [/^gemini_image3\.1_flash$/, { ratio: square, editSizes: geminiLongSizes, references: 14 }],
  [/^gemini_image3\.1_flash_lite$/, { ratio: square, editSizes: flashLiteSizes, references: 14 }],
  [/^nano_banana_2\.1$/, { ratio: square, editSizes: nanoBananaSizes, references: 14 }],
  [/^(gemini_image3|nano_banana_)/, { ratio: square, references: 14 }],
  [/^muse_image/, { ratio: "auto", takes: { output_format: ["webp", ...png] }, references: 10 }],
  [
    /^seedream5_lite$/,
    {
      ratio: "2048:2048",
      editSizes: seedreamLiteSizes,
      takes: { output_format: png },
      references: 14,
      maxPrompt: 4000,
    },
  ],
  [
    /^seedream5_pro$/,
    { ratio: "auto_1k", takes: { output_format: png }, references: 10, maxPrompt: 4000 },
  ],
  [/^seedream5_/, { ratio: "auto_1k", takes: { output_format: png }, references: 10 }],
  [
    /^grok_imagine_image_2$/,
    {
      ratio: "auto_1k",
      takes: { quality: ["low", "medium"] },
      references: 3,
      editFields: { edit: true },
    },
  ],
  [/^bria_fibo_edit_/, { takes: { output_format: png }, references: 4, editsOnly: true }],
  [
    /^bria_fibo_1_5$/,
    { ratio: square, editSizes: fiboSizes, takes: { output_format: png }, references: 1 },
  ],
  [/^bria_fibo_/, { ratio: square, takes: { output_format: png }, references: 1 }],
  [/^ideogram_4_0$/, { takes: { quality: ["low", "medium", "high"] }, references: 1 }],
  [/^ideogram_/, { takes: { quality: ["low", "medium", "high"] }, references: 5 }],
  [/^recraft_v4_1_flash$/, { ratio: square, takes: { output_format: ["webp", "png"] } }],
  [/^recraft_/, { ratio: square }],
];

/** A model that is not listed takes a size and one input image, and the upstream decides. */
export const runwayModel = (name: string): RunwayModel =>
  models.find(([pattern]) => pattern.test(name))?.[1] ?? { ratio: square, references: 1 };
