/**
 * Prepares the source images of an edit for a target: downloads links, converts formats, and rotates a mask like its
 * image.
 */
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../../upstream/contract.ts";
import type { EditCapabilities } from "../../upstream/image-capabilities.ts";
import { formatSize, nearestSize } from "../../upstream/image-sizes.ts";
import { checkBytes } from "../plan/plan-sources.ts";
import { checkMask, maskOrientation } from "../preflight.ts";
import { type SourceTools, toReadableFile, toReadableMask } from "./source-file.ts";

/** The tools for preparing one request. */
export interface PrepareTools extends SourceTools {
  /** Downloads a URL of the client, as an inspected file. `param`: the parameter that holds the URL. */
  fetchSource(url: string, param: string): Promise<FilePart>;
}

export async function prepareSources<Q extends GenerationQuery | EditQuery>(
  query: Q,
  edits: EditCapabilities | undefined,
  tools: PrepareTools,
): Promise<Q> {
  if (!("images" in query) || !edits) return query;
  const files: (FilePart | undefined)[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = await resolveFile(source, `images[${at}].image_url`, edits, tools);
    if (file && source.kind === "url") checkBytes(file, edits);
    files.push(file);
  }
  const [first] = files;
  const mask = query.mask && (await resolveFile(query.mask, "mask.image_url", edits, tools));
  const rotation = first && mask ? await rotationFor(mask, first, tools) : noRotation;
  const images: ImageSource[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = files[at];
    const upright = at === 0 && rotation.image;
    images.push(file ? toFileSource(await toReadableFile(file, edits, tools, upright)) : source);
  }
  const size = await sizeOfFirstImage(first, query, edits, tools);
  return {
    ...query,
    images,
    ...(mask && { mask: toFileSource(await toReadableMask(mask, edits, tools, rotation.mask)) }),
    ...(size && { options: { ...query.options, size } }),
  };
}

const toFileSource = (file: FilePart): ImageSource => ({ kind: "file", file });

/** The rotation that gives an image and its mask the same orientation. */
interface Rotation {
  /** The image has an EXIF orientation other than 1. */
  readonly image: boolean;
  /** The EXIF orientation to apply to the mask. */
  readonly mask: number;
}

const noRotation: Rotation = { image: false, mask: 1 };

/**
 * Some upstreams apply an image's EXIF orientation, some do not, and most lose it. So an image with a mask is sent
 * upright, without EXIF, and a mask for the image as stored is rotated like the image.
 */
async function rotationFor(
  mask: FilePart,
  first: FilePart,
  tools: PrepareTools,
): Promise<Rotation> {
  const image = await tools.inspect(first);
  const maskInspection = await tools.inspect(mask);
  // Two uploads were compared in the preflight; the size of a downloaded image is known only now.
  checkMask(maskInspection, image, mask.field);
  return {
    image: image.orientation !== 1,
    mask: maskOrientation(maskInspection, image) === "stored" ? image.orientation : 1,
  };
}

/** OpenAI's `auto` in effect: the output is as large as the first source image. */
async function sizeOfFirstImage(
  first: FilePart | undefined,
  { options: { size = "auto" }, extraFields, mask }: EditQuery,
  { matchFirstImage: likeFirst }: EditCapabilities,
  tools: PrepareTools,
): Promise<string | undefined> {
  if (!likeFirst || !first || mask || size !== "auto") return undefined;
  // The size is given in vendor-specific fields.
  if ("width" in extraFields || "height" in extraFields) return undefined;
  return formatSize(nearestSize(await tools.inspect(first), likeFirst));
}

async function resolveFile(
  source: ImageSource,
  param: string,
  { links }: EditCapabilities,
  tools: PrepareTools,
): Promise<FilePart | undefined> {
  if (source.kind === "file") return source.file;
  return source.kind === "url" && !links ? tools.fetchSource(source.url, param) : undefined;
}
