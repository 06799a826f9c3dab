/**
 * Prepares the source images of an edit for a target: downloads links, converts formats, and rotates an image with a
 * mask by its EXIF orientation.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../upstream/contract.ts";
import type { EditCapabilities } from "../upstream/image-capabilities.ts";
import { formatSize, nearestListedSize, nearestSize } from "../upstream/image-sizes.ts";
import type { ImageTaskContext } from "../workers/image/image-worker.ts";
import type {
  ImageConversion,
  ImageInspection,
  MaskConvention,
} from "../workers/image/messages.ts";
import { checkBytes } from "./plan/plan-options.ts";
import { checkMarkup, checkMask } from "./preflight.ts";

/** The tools that prepare source images. */
export interface SourceTools {
  /** Downloads a URL of the client, as an inspected file. `param`: the parameter that holds the URL. */
  fetchSource(url: string, param: string, task: ImageTaskContext): Promise<FilePart>;
  /** Inspects a checked image of the client: its dimensions, transparency and orientation. */
  inspect(file: FilePart, task: ImageTaskContext): Promise<ImageInspection>;
  convertFile(file: FilePart, to: ImageConversion, task: ImageTaskContext): Promise<FilePart>;
  convertMask(mask: FilePart, to: MaskConvention, task: ImageTaskContext): Promise<FilePart>;
}

/** The target of one request, and the tools for its source images. */
interface Preparation {
  readonly edits: EditCapabilities;
  readonly tools: SourceTools;
  readonly task: ImageTaskContext;
  onAdapted(name: string): void;
}

export async function prepareSources<Q extends GenerationQuery>(
  query: Q & EditQuery,
  preparation: Preparation,
): Promise<Q> {
  const files: (FilePart | undefined)[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = await resolveFile(source, `images[${at}].image_url`, preparation);
    if (file && source.kind === "url") checkBytes(file, preparation.edits);
    files.push(file);
  }
  const [first] = files;
  const mask = query.mask && (await resolveFile(query.mask, "mask.image_url", preparation));
  const isRotated = first && mask ? await needsRotation(mask, first, preparation) : false;
  const images: ImageSource[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = files[at];
    const upright = at === 0 && isRotated;
    images.push(file ? toFileSource(await toReadableFile(file, preparation, upright)) : source);
  }
  const markup = query.markup && (await markupFile(query.markup, first, preparation));
  const size = await sizeOfFirstImage(first, query, preparation);
  return {
    ...query,
    images,
    ...(mask && { mask: toFileSource(await toReadableMask(mask, preparation)) }),
    ...(markup && { markup: toFileSource(markup) }),
    ...(size && { options: { ...query.options, size } }),
  };
}

const toFileSource = (file: FilePart): ImageSource => ({ kind: "file", file });

/** Undefined if the target reads the reference itself. */
async function markupFile(
  markup: ImageSource,
  first: FilePart | undefined,
  preparation: Preparation,
): Promise<FilePart | undefined> {
  const file = await resolveFile(markup, "markup.image_url", preparation);
  if (!file) return undefined;
  const { tools, task, edits } = preparation;
  checkBytes(file, edits);
  // Two uploads were compared in the preflight; the size of a downloaded image is known only now.
  if (first)
    checkMarkup(await tools.inspect(file, task), await tools.inspect(first, task), file.field);
  return file;
}

/**
 * Some upstreams apply an image's EXIF orientation, some do not, and most lose it. So an image with a mask is sent
 * upright, without EXIF.
 */
async function needsRotation(
  mask: FilePart,
  first: FilePart,
  { tools, task }: Preparation,
): Promise<boolean> {
  const image = await tools.inspect(first, task);
  // Two uploads were compared in the preflight; the size of a downloaded image is known only now.
  checkMask(await tools.inspect(mask, task), image, mask.field);
  return image.orientation !== 1;
}

/**
 * For `size: auto`, OpenAI uses the size of the first source image. Returns the size nearest to it that the target
 * supports. Undefined if the target has no `matchFirstImage`, the gateway does not have the first image as a file, the
 * request has a size, or it has a mask and the target no `matchMasked`.
 */
async function sizeOfFirstImage(
  first: FilePart | undefined,
  { options: { size = "auto" }, extraFields, mask }: EditQuery,
  { edits: { matchFirstImage: sizes, matchMasked }, tools, task }: Preparation,
): Promise<string | undefined> {
  if (!sizes || !first || size !== "auto" || (mask && !matchMasked)) return undefined;
  // The size is given in vendor-specific fields.
  if ("width" in extraFields || "height" in extraFields) return undefined;
  const source = await tools.inspect(first, task);
  return "multipleOf" in sizes
    ? formatSize(nearestSize(source, sizes))
    : nearestListedSize(source, sizes);
}

async function resolveFile(
  source: ImageSource,
  param: string,
  { edits, tools, task }: Preparation,
): Promise<FilePart | undefined> {
  if (source.kind === "file") return source.file;
  return source.kind === "url" && !edits.links
    ? tools.fetchSource(source.url, param, task)
    : undefined;
}

const defaultTypes = ["image/png", "image/jpeg", "image/webp"];

/** `upright`: the EXIF orientation must be applied, because a mask is sent along. */
async function toReadableFile(
  file: FilePart,
  preparation: Preparation,
  upright: boolean,
): Promise<FilePart> {
  const { edits, tools, task } = preparation;
  const { maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (!upright && (await isReadable(file, preparation))) return file;
  preparation.onAdapted("image");
  let smallestBytes = Number.POSITIVE_INFINITY;
  for (const to of conversionsFor(file, await tools.inspect(file, task), edits)) {
    const converted = await tools.convertFile(file, to, task);
    if (converted.size <= maxBytes) return converted;
    smallestBytes = Math.min(smallestBytes, converted.size);
  }
  const [reason, alternative] = upright
    ? ["after a rotation to match its mask", "one that is stored upright"]
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

/** The mask in the target's convention. Unchanged if it already fits. */
async function toReadableMask(
  file: FilePart,
  { edits, tools, task }: Preparation,
): Promise<FilePart> {
  const { mask: convention = "transparent", maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (convention === "transparent" && file.size <= maxBytes) {
    const inspection = await tools.inspect(file, task);
    if (inspection.orientation === 1 && inspection.alphaChannel) return file;
  }
  // Without its colors, which have no meaning, the mask is small.
  const converted = await tools.convertMask(file, convention, task);
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
  { edits: { reads = defaultTypes, needsAlpha }, tools, task }: Preparation,
): Promise<boolean> {
  if (!reads.includes(file.type)) return false;
  return !needsAlpha || (await tools.inspect(file, task)).alphaChannel;
}

/**
 * The conversions that are tried in order: lossless, a JPEG of the best quality, and a JPEG of lower quality.
 * Re-encoding a JPEG at its best quality loses next to nothing.
 */
function conversionsFor(
  { type }: FilePart,
  { opaque, pages }: ImageInspection,
  { reads = defaultTypes, needsAlpha }: EditCapabilities,
): readonly ImageConversion[] {
  const accepts = (format: string): boolean => reads.includes(`image/${format}`);
  const alpha = needsAlpha && { alpha: true };
  const lossless: ImageConversion[] = [];
  if (accepts("png")) lossless.push({ format: "png", ...alpha });
  // A webp of an animation would be animated.
  else if (accepts("webp") && pages === 1) lossless.push({ format: "webp", ...alpha });
  // A jpeg has no transparency: used for opaque images, or where the target accepts nothing else.
  const mayFlatten = (opaque && !needsAlpha) || lossless.length === 0;
  if (!accepts("jpeg") || !mayFlatten) return lossless;
  const jpegs: ImageConversion[] = [{ format: "jpeg" }, { format: "jpeg", quality: 85 }];
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
    `Invalid '${field}': ${what}, and this model accepts at most ${maxBytes}. ${advice}.`,
    { param: field, notSent: true, overrides: { retry: "elsewhere", clientShouldNotRetry: true } },
  );
