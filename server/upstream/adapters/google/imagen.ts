/**
 * Imagen on Vertex AI, through `:predict`. Google closed it to the public on 17 August 2026, and on the Gemini API
 * altogether; this is for customers who still have access.
 */

import type { ReadImages } from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  ImageResult,
  Target,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { FileContent, filesOf } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { imageContentIn, revised } from "../wire/image-list.ts";
import { listOf, memberOf, textIn } from "../wire/members.ts";
import { toMappedError } from "../wire/native-errors.ts";
import { renameNegativePrompt } from "../wire/negative-prompt.ts";
import { withoutProject } from "./gemini-images.ts";

export const isImagen = ({ model }: Target): boolean => /(^|\/)imag(en|egeneration)\b/.test(model);

// cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api: up to four images, in five aspect ratios.
const aspectRatios = ["1:1", "3:4", "4:3", "9:16", "16:9"];

export function imagenCapabilities(
  { model }: Target,
  operation: ImageOperation,
): ImageCapabilities {
  return {
    maxImages: 4,
    takes: { output_format: ["png", "jpeg"] },
    // An edited image keeps its size.
    sizes: operation === "edits" ? { list: [] } : { ratios: aspectRatios },
    // googleapis/js-genai, MaskReferenceImage: "non-zero values indicate where to edit the base image".
    ...(/capability/.test(model) && {
      edits: { maxImages: 1, mask: "white", reads: ["image/png", "image/jpeg"] },
    }),
  };
}

export const imagenBody = (query: GenerationQuery): ExtraFields =>
  bodyOf(query, {}, query.aspectRatio === undefined ? {} : { aspectRatio: query.aspectRatio });

/** googleapis/js-genai, editImageParametersInternalToVertex: image and mask are numbered references. */
export function imagenEditBody(query: EditQuery): ExtraFields {
  const { images, mask } = query;
  const [first, ...others] = filesOf(mask ? [...images, mask] : images);
  const reference = (
    file: typeof first,
    referenceId: number,
    referenceType: string,
  ): ExtraFields => ({
    referenceType,
    referenceId,
    ...(file && { referenceImage: { bytesBase64Encoded: new FileContent(file) } }),
  });
  return bodyOf(
    query,
    {
      referenceImages: [
        reference(first, 1, "REFERENCE_TYPE_RAW"),
        ...others.map((file) => ({
          ...reference(file, 2, "REFERENCE_TYPE_MASK"),
          maskImageConfig: { maskMode: "MASK_MODE_USER_PROVIDED" },
        })),
      ],
    },
    { editMode: mask ? "EDIT_MODE_INPAINT_INSERTION" : "EDIT_MODE_DEFAULT" },
  );
}

function bodyOf(
  { prompt, options, extraFields }: GenerationQuery,
  instance: ExtraFields,
  more: ExtraFields,
): ExtraFields {
  // google-genai 3.3.0, models.py: the parameter of `predict`. The model may have none: Google decides.
  const { labels, ...parameters } = renameNegativePrompt(extraFields, "negativePrompt");
  const { n, output_format } = options;
  return {
    instances: [{ prompt, ...instance }],
    parameters: {
      // Without this option, the response has no reason for a withheld image.
      includeRaiReason: true,
      ...parameters,
      ...more,
      // By default, Imagen generates four images.
      sampleCount: n ?? 1,
      ...(output_format && { outputOptions: { mimeType: `image/${output_format}` } }),
    },
    ...(labels !== undefined && { labels }),
  };
}

export const readImagen: ReadImages = async (response, context) => {
  const predictions = listOf(memberOf(await readDocument(response, context.temp), "predictions"));
  const results = predictions.flatMap((prediction): ImageResult[] => {
    const image = imageContentIn(memberOf(prediction, "bytesBase64Encoded"));
    // The prompt as Google rewrote it.
    return image ? [{ image, ...revised(memberOf(prediction, "prompt"), context) }] : [];
  });
  if (results.length > 0) return { kind: "buffered", results, metadata: {} };
  const reason = predictions
    .map((prediction) => textIn(prediction, "raiFilteredReason"))
    .find((message) => message !== undefined);
  if (reason === undefined) throw invalidResponse("it has no image");
  throw toMappedError("moderated", withoutProject(reason, context), context);
};
