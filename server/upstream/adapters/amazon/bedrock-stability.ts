/** Stability AI on Amazon Bedrock: models that generate images, and services that edit one image in one way each. */

import { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { FileContent } from "../wire/build-request.ts";
import { extraFieldsOf, listOf, memberOf } from "../wire/members.ts";
import { type ImageFamily, imagesIn, noImageError, sourcesOf } from "./bedrock-image-family.ts";

/** docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-diffusion-3-5-large.html */
const aspectRatios = ["16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"];

interface Service {
  /** The fields of the input images. */
  readonly images: readonly string[];
  /** Takes a prompt. Services without one refuse it. */
  readonly prompt: boolean;
  readonly mask?: true;
  readonly takesAspectRatio?: true;
  /** Other required fields. */
  readonly needs?: string;
  /** Defaults of fields that the request does not have. */
  readonly defaultFields?: ExtraFields;
}

const plain: Service = { images: ["image"], prompt: true };

/**
 * docs.aws.amazon.com/bedrock/latest/userguide/stable-image-services.html, by the model's id. White mask pixels are
 * edited. Services that are not listed take an image and a prompt.
 */
const services: Readonly<Record<string, Service>> = {
  "image-inpaint": { ...plain, mask: true },
  "image-erase-object": { images: ["image"], prompt: false, mask: true },
  "image-remove-background": { images: ["image"], prompt: false },
  "fast-upscale": { images: ["image"], prompt: false },
  "style-transfer": { images: ["init_image", "style_image"], prompt: true },
  "image-style-guide": { ...plain, takesAspectRatio: true },
  "image-search-replace": { ...plain, needs: "search_prompt" },
  "image-search-recolor": { ...plain, needs: "select_prompt" },
  "creative-upscale": plain,
  "conservative-upscale": plain,
  outpaint: plain,
  "image-control-sketch": plain,
  "image-control-structure": plain,
};

/** The same page: image-to-image requires a strength. 0 keeps the image, 1 ignores it. */
const imageToImage: Service = { ...plain, defaultFields: { strength: 0.7 } };

const generationModels = /\bsd3|stable-image-(ultra|core)|stable-diffusion/;

const serviceOf = (model: string): Service | undefined =>
  services[/stable-([a-z-]+?)-v\d/.exec(model)?.[1] ?? ""];

function editOf(model: string): Service | undefined {
  // Stable Image Core generates images and does not edit them.
  if (/stable-image-core/.test(model)) return undefined;
  return serviceOf(model) ?? (generationModels.test(model) ? imageToImage : plain);
}

function capabilities(model: string, operation: ImageOperation): ImageCapabilities {
  const service = editOf(model);
  const isService = serviceOf(model) !== undefined;
  return {
    maxImages: 1,
    takes: { output_format: isService ? ["png", "jpeg", "webp"] : ["png", "jpeg"] },
    sizes:
      operation === "generations" || service?.takesAspectRatio
        ? { ratios: aspectRatios }
        : { list: [] },
    maxPrompt: 10_000,
    ...(isService && { editsOnly: true }),
    ...(service && {
      edits: {
        maxImages: service.images.length,
        ...(service.mask && { mask: "white" }),
        // A request has at most 25,000,000 bytes, and base64 encodes three bytes in four.
        maxBytes: 18_000_000,
      },
    }),
  };
}

const common = ({ options, aspectRatio: aspect }: GenerationQuery): ExtraFields => ({
  ...(aspect !== undefined && { aspect_ratio: aspect }),
  ...(options.output_format !== undefined && { output_format: options.output_format }),
});

const generation = (query: GenerationQuery): ExtraFields => ({
  ...query.extraFields,
  prompt: query.prompt,
  ...common(query),
});

function edit(query: EditQuery, model: string): ExtraFields {
  const service = editOf(model) ?? plain;
  const { images, mask } = sourcesOf(query);
  const { needs } = service;
  if (images.length < service.images.length) throw tooFewImages(service.images.length);
  if (needs !== undefined && query.extraFields[needs] === undefined) throw missing(needs);
  return {
    ...service.defaultFields,
    ...query.extraFields,
    ...(service.prompt && { prompt: query.prompt }),
    ...Object.fromEntries(
      images.map((file, at) => [service.images[at] ?? "image", new FileContent(file)]),
    ),
    ...(mask && { mask: new FileContent(mask) }),
    ...(/\bsd3/.test(model) && { mode: "image-to-image" }),
    ...common(query),
  };
}

const tooFewImages = (count: number): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid 'image': this model needs ${count} images: the image to change and the image with the style.`,
    { param: "image" },
  );

const missing = (param: string): GatewayError =>
  new GatewayError(
    "missing_parameter",
    `Missing required parameter: '${param}': a description of what this model should find in the image.`,
    { param },
  );

/** The same pages: `finish_reasons` is null for an image, or has the reason why there is none. */
const read: ImageFamily["read"] = (response, context): BufferedImageResponse => {
  const reasons = listOf(memberOf(response, "finish_reasons"));
  const reason = reasons.find((entry) => typeof entry === "string");
  if (typeof reason === "string") {
    const isModerated = /^Filter reason/i.test(reason);
    throw noImageError(isModerated ? "moderated" : undefined, reason, context);
  }
  const results = imagesIn(response);
  if (results.length === 0) throw invalidResponse("it has no image");
  return { kind: "buffered", results, metadata: {}, ...extraFieldsOf(response, ["seeds"]) };
};

export const stability: ImageFamily = { capabilities, generation, edit, read };
