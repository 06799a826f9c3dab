/**
 * Converts a source image of an edit to a format that the target accepts, within its size limit also after the
 * conversion.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FilePart } from "../../upstream/contract.ts";
import type { EditCapabilities } from "../../upstream/image-capabilities.ts";
import type { Conversion, ImageInspection, MaskForm } from "../../workers/image/image-worker.ts";

/** The tools that prepare source images. */
export interface SourceTools {
  /** Inspects a checked file: its dimensions, transparency and orientation. */
  inspect(file: FilePart): Promise<ImageInspection>;
  convertMask(mask: FilePart, to: MaskForm): Promise<FilePart>;
  convert(file: FilePart, to: Conversion): Promise<FilePart>;
  onAdapted(name: string): void;
}

const defaultTypes = ["image/png", "image/jpeg", "image/webp"];

/** `upright`: the EXIF orientation must be applied, because a mask is sent along. */
export async function toReadableFile(
  file: FilePart,
  edits: EditCapabilities,
  tools: SourceTools,
  upright: boolean,
): Promise<FilePart> {
  const { maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (!upright && (await isReadable(file, edits, tools))) return file;
  tools.onAdapted("image");
  let smallestBytes = notConverted;
  for (const to of conversionsFor(file, await tools.inspect(file), edits)) {
    if (
      to.format !== "jpeg" &&
      smallestBytes !== notConverted &&
      smallestBytes > maxShrinkFactor * maxBytes
    )
      continue;
    const converted = await tools.convert(file, to);
    if (converted.size <= maxBytes) return converted;
    smallestBytes = Math.min(smallestBytes, converted.size);
  }
  const [reason, alternative] = upright
    ? ["turned upright, so that its mask fits", "one that is stored upright"]
    : [
        `as ${formatNames(edits)}, which this model accepts`,
        `a ${formatNames(edits)} that is small enough`,
      ];
  const advice = `Send one with fewer pixels, or ${alternative}`;
  throw tooLargeAfterConversion(
    file.field,
    `${reason}, the image has ${smallestBytes} bytes`,
    maxBytes,
    advice,
  );
}

/** The mask in the target's convention, rotated like the image. Sent unchanged where it already fits. */
export async function toReadableMask(
  file: FilePart,
  edits: EditCapabilities,
  tools: SourceTools,
  orientation: number,
): Promise<FilePart> {
  const { mask: sense = "transparent", maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (sense === "transparent" && orientation === 1 && file.size <= maxBytes) {
    const seen = await tools.inspect(file);
    if (seen.orientation === 1 && seen.alphaChannel) return file;
  }
  // Without its colors, which have no meaning, the mask is small.
  const converted = await tools.convertMask(file, { sense, orientation });
  if (converted.size <= maxBytes) return converted;
  const what = `in the form that this model accepts, the mask has ${converted.size} bytes`;
  throw tooLargeAfterConversion(
    file.field,
    what,
    maxBytes,
    "Send an image and a mask with fewer pixels",
  );
}

async function isReadable(
  file: FilePart,
  { reads = defaultTypes, needsAlpha }: EditCapabilities,
  tools: SourceTools,
): Promise<boolean> {
  if (!reads.includes(file.type)) return false;
  return !needsAlpha || (await tools.inspect(file)).alphaChannel;
}

const notConverted = Number.POSITIVE_INFINITY;
/** An image that exceeds the limit by this factor does not fit by better lossless compression. */
const maxShrinkFactor = 4;

/** Conversions from lossless to most lossy. Re-encoding a JPEG at its best quality loses next to nothing. */
function conversionsFor(
  { type }: FilePart,
  { opaque, pages }: ImageInspection,
  { reads = defaultTypes, needsAlpha }: EditCapabilities,
): readonly Conversion[] {
  const accepts = (format: string): boolean => reads.includes(`image/${format}`);
  const alpha = needsAlpha && { alpha: true };
  const png: Conversion = { format: "png", ...alpha };
  const lossless: Conversion[] = accepts("png") ? [png, { ...png, packed: true }] : [];
  // A webp of an animation would be animated.
  if (accepts("webp") && pages === 1) lossless.push({ format: "webp", ...alpha });
  // A jpeg has no transparency: used for opaque images, or where the target accepts nothing else.
  const mayFlatten = (opaque && !needsAlpha) || lossless.length === 0;
  if (!accepts("jpeg") || !mayFlatten) return lossless;
  const jpegs = [undefined, 92, 85].map(
    (quality): Conversion => ({ format: "jpeg", ...(quality && { quality }) }),
  );
  return type === "image/jpeg" ? jpegs : [...lossless, ...jpegs];
}

function formatNames({ reads = defaultTypes, needsAlpha }: EditCapabilities): string {
  const kinds = defaultTypes.filter((kind) => reads.includes(kind));
  const names = kinds.map((kind) => kind.replace("image/", "").toUpperCase()).join(" or ");
  return needsAlpha ? `${names} with an alpha channel` : names;
}

/** No upstream was called, and another target may accept more. */
const tooLargeAfterConversion = (
  field: string,
  what: string,
  maxBytes: number,
  advice: string,
): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid '${field}': ${what}, and at most ${maxBytes} are taken. ${advice}.`,
    { param: field, notSent: true, overrides: { retry: "elsewhere", clientShouldNotRetry: true } },
  );
