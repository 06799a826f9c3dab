/** Why a target cannot embed the images of a request. Nothing is emulated: the gateway fuses no vectors. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  ImageInputCapabilities,
  InputEntry,
  InputImage,
  MixedInput,
} from "../../upstream/contract.ts";
import { hasImage, imageCount } from "../../upstream/mixed-input.ts";

/** Undefined if the target supports them, as far as is known before they are loaded. */
export function imageRefusal(
  { model }: Pick<EmbeddingsQuery, "model">,
  { entries }: MixedInput,
  { images }: EmbeddingCapabilities,
): GatewayError | undefined {
  for (const [at, entry] of entries.entries()) {
    if (!hasImage(entry)) continue;
    const problem = images
      ? problemOf(entry, images)
      : "has an image, and the model reads texts only";
    if (problem === undefined) continue;
    return new GatewayError(
      "invalid_input",
      `'$.input' is invalid. Entry ${at} cannot be embedded by the model \`${model}\`: it ${problem}.`,
    );
  }
  return undefined;
}

/** Whether an image has a format that the target does not read, and is converted for it. */
export const needsConversion = (
  { entries }: MixedInput,
  { types }: Pick<ImageInputCapabilities, "types">,
): boolean =>
  entries.some(({ parts }) =>
    parts.some((part) => part.kind === "image" && !types.includes(part.image.file.type)),
  );

function problemOf(
  entry: InputEntry,
  { fuses, maxPerEntry = Infinity, ...limits }: ImageInputCapabilities,
): string | undefined {
  const images = imageCount(entry);
  const texts = entry.parts.length - images;
  if (fuses === undefined && entry.parts.length > 1) {
    return "has several parts, which the model does not fuse into one vector. Send each part as an entry of its own";
  }
  if (fuses === "pair" && (texts > 1 || images > 1)) {
    return `has ${texts} texts and ${images} images, and the model fuses at most one text with one image`;
  }
  if (images > maxPerEntry) {
    return `has ${images} images, and the model takes at most ${maxPerEntry} in one entry`;
  }
  for (const part of entry.parts) {
    const problem = part.kind === "image" ? sizeProblem(part.image, limits) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The bytes of an image that is converted are not known yet. */
function sizeProblem(
  { file, width, height }: InputImage,
  { types, maxBytes = Infinity, maxPixels = Infinity }: ImageInputCapabilities,
): string | undefined {
  if (file.size > maxBytes && types.includes(file.type)) {
    return `has an image of ${file.size} bytes, and the model takes at most ${maxBytes}`;
  }
  return width * height > maxPixels
    ? `has an image of ${width}x${height} pixels, and the model takes at most ${maxPixels} pixels`
    : undefined;
}
