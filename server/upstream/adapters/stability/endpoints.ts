/**
 * Stability's services by their paths: services that generate images, and services that edit an image. Facts are
 * from platform.stability.ai/docs/api-reference and the OpenAPI document behind it.
 */
import type { ImageOperation } from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { modelPath } from "../wire/build-request.ts";

export interface Service {
  /** Below /v2beta/stable-image. */
  readonly path: string;
  /** The model, for services that serve several. */
  readonly model?: string;
  /** The field of the prompt. If absent, it takes no prompt. */
  readonly prompt?: string;
  /** The fields of the images, in order. */
  readonly images?: readonly string[];
  /** Takes a mask, whose white pixels are edited. */
  readonly mask?: true;
  /** Takes an aspect ratio. */
  readonly takesAspectRatio?: true;
  /** Defaults of required fields. The request overrides them. */
  readonly defaultFields?: Readonly<Record<string, string>>;
  readonly formats: readonly string[];
}

const formats = ["png", "jpeg", "webp"];
/** `sd3` does not support webp: its schema, and stability-ai on npm. */
const sd3Formats = ["png", "jpeg"];

const service = (path: string, others: Partial<Service> = {}): Service => ({
  path,
  prompt: "prompt",
  images: ["image"],
  formats,
  ...others,
});

const { prompt: _, ...withoutPrompt } = service("");

const inpaint = service("edit/inpaint", { mask: true });

/** Distance of the output from the input image: 0 is none. Required with an input image; 0.5 by default. */
const strength = { strength: "0.5" };

/** Editing services, by the last part of the model name. Relighting and creative upscaling return an operation. */
const editServices: Readonly<Record<string, Service>> = {
  inpaint,
  erase: { ...withoutPrompt, path: "edit/erase", mask: true },
  outpaint: service("edit/outpaint"),
  "search-and-replace": service("edit/search-and-replace"),
  "search-and-recolor": service("edit/search-and-recolor"),
  "remove-background": {
    ...withoutPrompt,
    path: "edit/remove-background",
    formats: ["png", "webp"],
  },
  "replace-background-and-relight": service("edit/replace-background-and-relight", {
    prompt: "background_prompt",
    images: ["subject_image", "background_reference"],
  }),
  sketch: service("control/sketch"),
  structure: service("control/structure"),
  style: service("control/style", { takesAspectRatio: true }),
  "style-transfer": service("control/style-transfer", { images: ["init_image", "style_image"] }),
  fast: { ...withoutPrompt, path: "upscale/fast" },
  conservative: service("upscale/conservative"),
  creative: service("upscale/creative"),
};

/** The model name without its prefixes: `edit/inpaint` is `inpaint`, `stable-image-ultra` is `ultra`. */
const lastName = (model: string): string =>
  model.replace(/^.*\//, "").replace(/^stable-image-/, "");

const isSd3 = (name: string): boolean => /^(sd|stable-diffusion-)3/.test(name);

export function generationService(model: string): Service {
  const name = lastName(model);
  const { images: _, ...withoutImages } = service("");
  return isSd3(name)
    ? {
        ...withoutImages,
        path: "generate/sd3",
        model: name,
        takesAspectRatio: true,
        formats: sd3Formats,
      }
    : { ...withoutImages, path: `generate/${modelPath(name)}`, takesAspectRatio: true };
}

/**
 * A model that names an editing service uses it. Of the generation models, Ultra and SD3 support image-to-image; with a
 * mask, and for all others, inpainting is used, which without a mask uses the transparency of the image.
 */
export function editService(model: string, masked: boolean): Service {
  const name = lastName(model);
  const named = editServices[name];
  if (named) return named;
  if (masked) return inpaint;
  if (isSd3(name)) {
    return service("generate/sd3", {
      model: name,
      defaultFields: { mode: "image-to-image", ...strength },
      formats: sd3Formats,
    });
  }
  return name === "ultra" ? service("generate/ultra", { defaultFields: strength }) : inpaint;
}

// The same reference: these aspect ratios, prompts of 10,000 characters, requests of 10 MiB, one image per request.
const ratios = ["21:9", "16:9", "3:2", "5:4", "1:1", "4:5", "2:3", "9:16", "9:21"];

export function stabilityImageCapabilities(
  model: string,
  operation: ImageOperation,
): ImageCapabilities {
  const edits = operation === "edits";
  const {
    takesAspectRatio: aspectRatios,
    formats,
    images = [],
  } = edits ? editService(model, false) : generationService(model);
  const { mask } = editService(model, true);
  return {
    maxImages: 1,
    takes: { output_format: formats, user: "any" },
    sizes: aspectRatios ? { ratios } : { list: [] },
    maxPrompt: 10_000,
    ...(editServices[lastName(model)] && { editsOnly: true }),
    edits: {
      maxImages: edits ? images.length : 1,
      ...(mask && { mask: "white" as const }),
      maxBytes: 10 * 1024 * 1024,
    },
  };
}
