/** The pictures of an edit, as the target wants them: links fetched, files it can read, and a mask that lies as its picture does. */
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../../upstream/contract.ts";
import type { EditCapabilities } from "../../upstream/image-capabilities.ts";
import { formatSize, nearestSize } from "../../upstream/image-sizes.ts";
import { checkBytes } from "../plan/plan-sources.ts";
import { checkMask, maskOrientation } from "../preflight.ts";
import { type SourceTools, toReadableFile, toReadableMask } from "./source-file.ts";

/** What preparing needs of the rest of the house, for one call. */
export interface PrepareTools extends SourceTools {
  /** A caller's link, as a file that has been looked at. `param`: whose link it is. */
  fetchSource(url: string, param: string): Promise<FilePart>;
}

export async function prepareSources<Q extends GenerationQuery | EditQuery>(
  query: Q,
  edits: EditCapabilities | undefined,
  desk: PrepareTools,
): Promise<Q> {
  if (!("images" in query) || !edits) return query;
  const files: (FilePart | undefined)[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = await resolveFile(source, `images[${at}].image_url`, edits, desk);
    if (file && source.kind === "url") checkBytes(file, edits);
    files.push(file);
  }
  const [first] = files;
  const mask = query.mask && (await resolveFile(query.mask, "mask.image_url", edits, desk));
  const turned = first && mask ? await rotationFor(mask, first, desk) : noRotation;
  const images: ImageSource[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = files[at];
    const upright = at === 0 && turned.image;
    images.push(file ? toFileSource(await toReadableFile(file, edits, desk, upright)) : source);
  }
  const size = await sizeOfFirstImage(first, query, edits, desk);
  return {
    ...query,
    images,
    ...(mask && { mask: toFileSource(await toReadableMask(mask, edits, desk, turned.mask)) }),
    ...(size && { options: { ...query.options, size } }),
  };
}

const toFileSource = (file: FilePart): ImageSource => ({ kind: "file", file });

/** What has to be done so that a picture and its mask lie the same way. */
interface Rotation {
  /** The picture is stored otherwise than it is shown. */
  readonly image: boolean;
  /** How the mask is turned, by EXIF's numbers. */
  readonly mask: number;
}

const noRotation: Rotation = { image: false, mask: 1 };

/**
 * Some upstreams heed a picture's EXIF, some do not, and most lose it on the way. So with a mask it goes upright, without
 * EXIF; and a mask that was drawn on it as it is stored is turned as it is.
 */
async function rotationFor(mask: FilePart, first: FilePart, desk: PrepareTools): Promise<Rotation> {
  const image = await desk.inspect(first);
  const seen = await desk.inspect(mask);
  // Two files were compared when they came; of what a link leads to, the size is known only now.
  checkMask(seen, image, mask.field);
  return {
    image: image.orientation !== 1,
    mask: maskOrientation(seen, image) === "stored" ? image.orientation : 1,
  };
}

/** What OpenAI's `auto` does in effect: the picture that comes out is as large as the one that went in. */
async function sizeOfFirstImage(
  first: FilePart | undefined,
  { options: { size = "auto" }, rest, mask }: EditQuery,
  { matchFirstImage: likeFirst }: EditCapabilities,
  desk: PrepareTools,
): Promise<string | undefined> {
  if (!likeFirst || !first || mask || size !== "auto") return undefined;
  // Said in the vendor's own words.
  if ("width" in rest || "height" in rest) return undefined;
  return formatSize(nearestSize(await desk.inspect(first), likeFirst));
}

async function resolveFile(
  source: ImageSource,
  param: string,
  { links }: EditCapabilities,
  desk: PrepareTools,
): Promise<FilePart | undefined> {
  if (source.kind === "file") return source.file;
  return source.kind === "url" && !links ? desk.fetchSource(source.url, param) : undefined;
}
