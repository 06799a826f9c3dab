/**
 * Amazon's own image models on Bedrock, Nova Canvas and Titan Image Generator: the same request body with different
 * limits.
 */

import { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { FileContent } from "../wire/build-request.ts";
import { edgesOf } from "../wire/edges.ts";
import { memberOf, objectOf, textIn } from "../wire/members.ts";
import { renameNegativePrompt } from "../wire/negative-prompt.ts";
import { type ImageFamily, imagesIn, noImageError, sourcesOf } from "./bedrock-image-family.ts";

/** Two quality tiers, by the names of OpenAI's older models (`standard`, `hd`). */
const tiers: Readonly<Record<string, string>> = { standard: "standard", hd: "premium" };

/** docs.aws.amazon.com/nova/latest/userguide/image-gen-access.html: black mask pixels are edited. */
const edits = { maxImages: 5, mask: "black", reads: ["image/png", "image/jpeg"] } as const;

/**
 * docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html and image-gen-access.html. The pages do
 * not agree on whether 2048x2048 is one pixel too large; the price list includes it.
 */
const novaCapabilities: ImageCapabilities = {
  maxImages: 5,
  takes: {
    quality: Object.keys(tiers),
    style: [
      "3D_ANIMATED_FAMILY_FILM",
      "DESIGN_SKETCH",
      "FLAT_VECTOR_ILLUSTRATION",
      "GRAPHIC_NOVEL_ILLUSTRATION",
      "MAXIMALISM",
      "MIDCENTURY_RETRO",
      "PHOTOREALISM",
      "SOFT_DIGITAL_PAINTING",
    ],
  },
  sizes: {
    rule: { multipleOf: 16, minEdge: 320, maxEdge: 4096, maxPixels: 4_194_304, maxRatio: 4 },
  },
  maxPrompt: 1024,
  // A request has at most 25,000,000 bytes, and base64 encodes three bytes in four.
  edits: { ...edits, maxBytes: 18_000_000 },
};

/** docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html and titan-image-models.html */
const titanCapabilities: ImageCapabilities = {
  maxImages: 5,
  takes: { quality: Object.keys(tiers) },
  sizes: {
    list: [
      "1024x1024",
      "768x768",
      "512x512",
      "768x1152",
      "384x576",
      "1152x768",
      "576x384",
      "768x1280",
      "384x640",
      "1280x768",
      "640x384",
      "896x1152",
      "448x576",
      "1152x896",
      "576x448",
      "768x1408",
      "384x704",
      "1408x768",
      "704x384",
      "640x1408",
      "320x704",
      "1408x640",
      "704x320",
      "1152x640",
      "1173x640",
    ],
  },
  maxPrompt: 512,
  edits: { ...edits, maxBytes: 5_000_000 },
};

/** Members of `imageGenerationConfig`; all other options belong to the task. */
const configNames: ReadonlySet<string> = new Set(["cfgScale", "seed", "width", "height"]);

function bodyOf(
  query: GenerationQuery,
  taskType: string,
  paramsField: string,
  task: ExtraFields,
): ExtraFields {
  const { n, quality } = query.options;
  const {
    imageGenerationConfig,
    [paramsField]: given,
    ...flat
  } = renameNegativePrompt(query.extraFields, "negativeText");
  const [configFields, taskFields] = [true, false].map((isConfig) =>
    Object.fromEntries(Object.entries(flat).filter(([name]) => configNames.has(name) === isConfig)),
  );
  const config = {
    // Both models have a constant default seed, and would generate the same images again.
    ...(query.part !== undefined && { seed: 1000 + query.part }),
    ...configFields,
    ...objectOf(imageGenerationConfig),
    ...edgesOf(query),
    ...(quality !== undefined && { quality: tiers[quality] }),
    ...(n !== undefined && { numberOfImages: n }),
  };
  return {
    taskType,
    [paramsField]: { ...taskFields, ...objectOf(given), ...task },
    ...(Object.keys(config).length > 0 && { imageGenerationConfig: config }),
  };
}

const generation = (query: GenerationQuery): ExtraFields => {
  const { style } = query.options;
  const task = { text: query.prompt, ...(style !== undefined && { style }) };
  return bodyOf(query, "TEXT_IMAGE", "textToImageParams", task);
};

/**
 * With a mask, or a description of it, a part of the image is regenerated; without, the image is a reference for a
 * variation.
 */
function edit(query: EditQuery): ExtraFields {
  const { images, mask } = sourcesOf(query);
  const [first, ...others] = images;
  const { prompt: text, extraFields } = query;
  if (!first || (mask === undefined && extraFields.maskPrompt === undefined)) {
    const task = { images: images.map((file) => new FileContent(file)), text };
    return bodyOf(query, "IMAGE_VARIATION", "imageVariationParams", task);
  }
  if (others.length > 0) throw tooManyImages();
  const task = {
    image: new FileContent(first),
    ...(mask && { maskImage: new FileContent(mask) }),
    text,
  };
  return bodyOf(query, "INPAINTING", "inPaintingParams", task);
}

const tooManyImages = (): GatewayError =>
  new GatewayError(
    "invalid_value",
    "Invalid 'image': too many images. With a mask, this model takes one.",
    { param: "image" },
  );

/** docs.aws.amazon.com/nova/latest/userguide/image-gen-errors.html: `error` reports withheld images. */
const read: ImageFamily["read"] = (response, context): BufferedImageResponse => {
  const results = imagesIn(response);
  if (results.length > 0) return { kind: "buffered", results, metadata: {} };
  const error = textIn(response, "error");
  if (error !== undefined) {
    const isModerated = /\bblocked\b|\bfilter|Responsible AI/i.test(error);
    throw noImageError(isModerated ? "moderated" : undefined, error, context);
  }
  // Source of this status: vercel/ai, amazon-bedrock-image-model.ts.
  if (memberOf(response, "status") === "Request Moderated") {
    throw noImageError("moderated", undefined, context);
  }
  throw invalidResponse("it has no image");
};

/** With a mask, the output has the size of the input: so an edit takes no size. */
const editCapabilities: Pick<ImageCapabilities, "sizes" | "takes"> = {
  sizes: { list: [] },
  takes: { quality: Object.keys(tiers) },
};

const familyWith = (capabilities: ImageCapabilities): ImageFamily => ({
  capabilities: (_, operation) =>
    operation === "edits" ? { ...capabilities, ...editCapabilities } : capabilities,
  generation,
  edit,
  read,
});

export const novaCanvas = familyWith(novaCapabilities);
export const titanImage = familyWith(titanCapabilities);
