/** Shared by the image model families on Amazon Bedrock. */

import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { ImageRequestContext } from "../../adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  FilePart,
  GenerationQuery,
  ImageOperation,
  ImageResult,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { fileOf, filesOf } from "../wire/build-request.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { listOf, memberOf } from "../wire/members.ts";
import { type ErrorMeaning, toMappedError } from "../wire/native-errors.ts";
import { withoutNumbers } from "./bedrock-errors.ts";

export interface ImageFamily {
  capabilities(model: string, operation: ImageOperation): ImageCapabilities;
  generation(query: GenerationQuery, model: string): ExtraFields;
  edit(query: EditQuery, model: string): ExtraFields;
  read(response: unknown, context: ImageRequestContext): BufferedImageResponse;
}

export const sourcesOf = ({
  images,
  mask,
}: EditQuery): { readonly images: readonly FilePart[]; readonly mask: FilePart | undefined } => ({
  images: filesOf(images),
  mask: mask && fileOf(mask),
});

/** `{images: ["…"]}`: a withheld image is missing. */
export const imagesIn = (response: unknown): readonly ImageResult[] =>
  listOf(memberOf(response, "images")).flatMap((entry): ImageResult[] => {
    const image = imageContentIn(entry);
    return image ? [{ image }] : [];
  });

/** The error of a successful response without an image. */
export const noImageError = (
  meaning: ErrorMeaning | undefined,
  message: string | undefined,
  context: ImageRequestContext,
): GatewayError => toMappedError(meaning, message && withoutNumbers(message), context);
