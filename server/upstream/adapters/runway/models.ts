/** The models behind Runway's text_to_image: runwayml 5.24.0, types/text_to_image_create_params.py, read on 2026-11-17. */
import type { ImageCapabilities } from "../../image-capabilities.ts";

interface RunwayModel {
  /** `ratio` of a request without a size. Absent: the field is not required. */
  readonly ratio?: string;
  readonly takes?: ImageCapabilities["takes"];
  /** Maximum images per request. Absent: one. */
  readonly count?: number;
  /** Maximum input images of an edit. Absent: it does not edit. */
  readonly references?: number;
  readonly editsOnly?: true;
  /** Fields of an edit besides the images. */
  readonly editFields?: Readonly<Record<string, unknown>>;
  readonly maxPrompt?: number;
}

const square = "1024:1024";
const png = ["png", "jpeg"];
const later = ["low", "medium", "high", "xhigh", "max"];
const gptImage = { ratio: "auto", count: 10, references: 16 } as const;

// The number of input images of Seedream is that of its vendor: ../volcengine/families.ts.
const models: readonly (readonly [RegExp, RunwayModel])[] = [
  [/^gen4_image_turbo$/, { ratio: "1920:1080", references: 3, editsOnly: true, maxPrompt: 1000 }],
  [/^gen4_image$/, { ratio: "1920:1080", references: 3, maxPrompt: 1000 }],
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
  [/^gemini_2\.5_flash$/, { ratio: square, references: 3 }],
  [/^(gemini_image3|nano_banana_)/, { ratio: square, references: 14 }],
  [/^muse_image/, { ratio: "auto", takes: { output_format: ["webp", ...png] }, references: 10 }],
  [
    /^seedream5_lite$/,
    { ratio: "2048:2048", takes: { output_format: png }, references: 14, maxPrompt: 4000 },
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
  [/^bria_fibo_/, { ratio: square, takes: { output_format: png }, references: 1 }],
  [/^ideogram_4_0$/, { takes: { quality: ["low", "medium", "high"] }, references: 1 }],
  [/^ideogram_/, { takes: { quality: ["low", "medium", "high"] }, references: 5 }],
  [/^recraft_v4_1_flash$/, { ratio: square, takes: { output_format: ["webp", "png"] } }],
  [/^recraft_/, { ratio: square }],
];

/** A model that is not listed takes a size and one input image, and the upstream decides. */
export const runwayModel = (name: string): RunwayModel =>
  models.find(([pattern]) => pattern.test(name))?.[1] ?? { ratio: square, references: 1 };
