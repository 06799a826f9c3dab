/**
 * Ideogram's models, each with its own URL and fields. Facts are from developer.ideogram.ai (its OpenAPI document of
 * October 2026): /v2 is its newest API, /v1 the previous, and /generate the oldest, which names the model in the body.
 */
import type { ExtraFields, GenerationQuery, ImageOperation } from "../../contract.ts";
import type { EditCapabilities, ImageCapabilities, Sizes } from "../../image-capabilities.ts";
import { modelPath } from "../wire/build-request.ts";
import { editSizesByRatio, sizesOf4, sizesOf45 } from "./sizes.ts";

/**
 * The operations. `change`: an edit without a mask. `fill`: an edit with a mask. No model has a field for the size of a
 * `fill`: the image keeps its size.
 */
export type IdeogramOperation = "generate" | "change" | "fill";

interface IdeogramFamily {
  readonly path: (model: string, operation: IdeogramOperation) => string;
  /** Translates the client's options to the model's fields. */
  readonly fields: (
    query: GenerationQuery,
    model: string,
    operation: IdeogramOperation,
  ) => ExtraFields;
  /** The form field of each input image of an edit. */
  readonly image: string;
  readonly capabilities: Omit<ImageCapabilities, "edits">;
  /** Capabilities of edits that differ from those of generations. */
  readonly editing?: Partial<ImageCapabilities>;
  readonly edits?: EditCapabilities;
}

const megabyte = 1024 * 1024;

/** Rendering speeds, by OpenAI's quality. */
const speeds: Readonly<Record<string, string>> = {
  low: "turbo",
  medium: "default",
  high: "quality",
};
const tiers = ["low", "medium", "high"];

const speedOf = ({ options: { quality } }: GenerationQuery): string | undefined =>
  quality === undefined ? undefined : speeds[quality];

/** 16:9 is 16x9 here. */
const shapeOf = ({ aspectRatio: aspect }: GenerationQuery): string | undefined =>
  aspect?.replace(":", "x");

const aspectRatios: Sizes = {
  ratios: [
    "1:1",
    "16:9",
    "9:16",
    "4:3",
    "3:4",
    "3:2",
    "2:3",
    "5:4",
    "4:5",
    "16:10",
    "10:16",
    "2:1",
    "1:2",
    "3:1",
    "1:3",
  ],
};

const anySize: Sizes = { rule: { multipleOf: 1, minEdge: 16, maxEdge: 8192 } };

/** Edits of one image, with a mask whose black pixels mark the area to edit. */
const oneImageWithMask = { maxImages: 1, mask: "black", maxBytes: 25 * megabyte } as const;

// The newest API: eight images per request, prompts of 10,000 characters.
const newest = { maxImages: 8, maxPrompt: 10_000 } as const;

const v2 =
  (
    change: "generate" | "remix",
    fill: "generate" | "inpaint" = "inpaint",
  ): IdeogramFamily["path"] =>
  (model, operation) => {
    const verb = { generate: "generate", change, fill }[operation];
    return `v2/image/${verb}/${modelPath(model)}`;
  };

const count = ({ options: { n } }: GenerationQuery): ExtraFields => ({ num_images: n });

/** Ideogram 4.5, which has one URL for all operations. */
const ideogram45: IdeogramFamily = {
  path: v2("generate", "generate"),
  fields: (query, _, operation) => ({
    ...count(query),
    quality: query.options.quality,
    ...(operation === "generate" && { size: query.options.size }),
    ...(operation === "change" && {
      size: query.aspectRatio && editSizesByRatio[query.aspectRatio],
    }),
  }),
  image: "images",
  capabilities: { ...newest, takes: { quality: tiers }, sizes: { list: sizesOf45 } },
  editing: { sizes: { ratios: Object.keys(editSizesByRatio) } },
  edits: { maxImages: 5, mask: "black", maxBytes: 25 * megabyte },
};

/** Models with a rendering speed and an aspect ratio: 3.0, 2a and 2.0, and transparent images. */
const byShape: IdeogramFamily = {
  path: v2("remix"),
  fields: (query, _, operation) => ({
    ...count(query),
    rendering_speed: speedOf(query),
    ...(operation !== "fill" && { aspect_ratio: shapeOf(query) }),
  }),
  image: "image",
  capabilities: { ...newest, takes: { quality: tiers }, sizes: aspectRatios },
};

const ideogram4: IdeogramFamily = {
  path: v2("remix"),
  fields: (query) => ({
    ...count(query),
    rendering_speed: speedOf(query),
    resolution: query.options.size,
  }),
  image: "image",
  capabilities: { ...newest, takes: { quality: tiers }, sizes: { list: sizesOf4 } },
  edits: { maxImages: 1, maxBytes: 25 * megabyte },
};

/** Google's models at Ideogram: their aspect ratios have a colon. */
const nanoBanana: IdeogramFamily = {
  path: v2("generate"),
  fields: (query) => ({ ...count(query), aspect_ratio: query.aspectRatio }),
  image: "images",
  capabilities: {
    ...newest,
    takes: {},
    sizes: {
      ratios: ["1:1", "3:2", "2:3", "4:3", "3:4", "5:4", "4:5", "16:9", "9:16", "21:9"],
    },
  },
  edits: { maxImages: 10, maxBytes: 25 * megabyte },
};

/** `auto`, OpenAI's models, and unknown names: a resolution in pixels, and input images. */
const unknown: IdeogramFamily = {
  path: v2("generate", "generate"),
  fields: (query) => ({ ...count(query), resolution: query.options.size }),
  image: "images",
  capabilities: { ...newest, takes: {}, sizes: anySize },
  edits: { maxImages: 10, maxBytes: 25 * megabyte },
};

/** GPT Image 2.5, which has OpenAI's qualities and backgrounds since September 2026. */
const gptImage25: IdeogramFamily = {
  ...unknown,
  fields: (query) => ({
    ...unknown.fields(query, "", "generate"),
    quality: query.options.quality,
    background: query.options.background,
  }),
  capabilities: {
    ...unknown.capabilities,
    takes: { quality: tiers, background: ["transparent", "opaque"] },
  },
  edits: { maxImages: 16, maxBytes: 25 * megabyte },
};

const v1Verbs = { generate: "generate", change: "remix", fill: "inpaint" } as const;

const v1: IdeogramFamily["path"] = (model, operation) =>
  `v1/${modelPath(model)}/${v1Verbs[operation]}`;

/** Version 3 in the previous API, which has the same values in capitals. */
const v3OfV1: IdeogramFamily = {
  ...byShape,
  path: v1,
  fields: (query, model, operation) => ({
    ...byShape.fields(query, model, operation),
    rendering_speed: speedOf(query)?.toUpperCase(),
  }),
  edits: oneImageWithMask,
};

const v4OfV1: IdeogramFamily = {
  ...ideogram4,
  path: v1,
  fields: (query) => ({
    rendering_speed: speedOf(query)?.toUpperCase(),
    resolution: query.options.size,
  }),
  capabilities: { ...ideogram4.capabilities, maxImages: 1 },
};

/** 16:9 is ASPECT_16_9 here, and there are fewer aspect ratios. */
const oldest: IdeogramFamily = {
  path: (_, operation) => ({ generate: "generate", change: "remix", fill: "edit" })[operation],
  fields: (query, model, operation) => ({
    ...count(query),
    model,
    ...(operation !== "fill" && {
      aspect_ratio: query.aspectRatio && `ASPECT_${query.aspectRatio.replace(":", "_")}`,
    }),
  }),
  image: "image_file",
  capabilities: {
    maxImages: 8,
    takes: {},
    sizes: {
      ratios: ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "16:10", "10:16", "3:1", "1:3"],
    },
  },
  edits: { ...oneImageWithMask, maxBytes: 10 * megabyte },
};

/** The first match applies. */
const families: readonly (readonly [RegExp, IdeogramFamily])[] = [
  [/^(V_\d|AUTO$)/, oldest],
  [/^ideogram-v3/, v3OfV1],
  [/^ideogram-v4/, v4OfV1],
  [/^ideogram-4-5/, ideogram45],
  [
    /-transparent$/,
    {
      ...byShape,
      capabilities: {
        ...byShape.capabilities,
        takes: { quality: tiers, background: ["transparent"] },
      },
    },
  ],
  [/^ideogram-4/, ideogram4],
  [/^ideogram-3/, { ...byShape, edits: oneImageWithMask }],
  [/^ideogram-2/, byShape],
  [
    /^p-image/,
    {
      ...byShape,
      fields: (query) => ({
        ...count(query),
        quality: query.options.quality,
        aspect_ratio: shapeOf(query),
      }),
    },
  ],
  [/^nano-banana/, nanoBanana],
  [/^gpt-image-2-5/, gptImage25],
];

export const ideogramFamilyOf = (model: string): IdeogramFamily =>
  families.find(([name]) => name.test(model))?.[1] ?? unknown;

/** Version 4 in the previous API takes a prompt as text or as JSON. The field for text is `text_prompt`. */
export const promptField = (model: string): string =>
  /^ideogram-v4/.test(model) ? "text_prompt" : "prompt";

export function ideogramImageCapabilities(
  model: string,
  operation: ImageOperation,
): ImageCapabilities {
  const { capabilities, editing, edits } = ideogramFamilyOf(model);
  if (!edits) return capabilities;
  return operation === "edits"
    ? { ...capabilities, ...editing, edits }
    : { ...capabilities, edits };
}
