/** Metadata of a delivered image: read from its bytes, and otherwise as reported by the upstream or as requested. */
import type { ImageMetadata } from "../upstream/contract.ts";
import { parseSize, ratioDistance } from "../upstream/image-sizes.ts";
import { imageTypeOf, type LoadedImage, readAlpha, readDimensions } from "./image-head.ts";

/** The parameters that the target got natively. */
export interface RequestedMetadata extends ImageMetadata {
  /** Instead of a size, where the target takes aspect ratios only. */
  readonly aspect?: string;
}

export interface MetadataSources {
  /** The parameters that the target got natively. */
  readonly requested: RequestedMetadata;
  /** Metadata that the upstream reports. */
  readonly reported: ImageMetadata;
  /** The gateway has flattened it onto white. */
  readonly flattened: boolean;
}

/** Metadata read from the bytes, and reported metadata that the bytes do not contradict. */
export async function readMetadata(
  image: LoadedImage,
  { requested, reported, flattened }: MetadataSources,
): Promise<ImageMetadata> {
  const type = imageTypeOf(image);
  const dimensions = await readDimensions(image);
  const background = flattened ? "opaque" : await readBackground(image, requested, reported);
  return {
    ...(dimensions && { size: `${dimensions.width}x${dimensions.height}` }),
    ...(type && { output_format: type.replace(/^image\/(?:svg\+)?/, "").replace("xml", "svg") }),
    ...(background !== undefined && { background }),
  };
}

/**
 * An image without an alpha channel is opaque, whatever is reported. An image with one may be opaque too: only its
 * pixels decide, which are not decoded here. So the upstream's report counts, and the request does not.
 */
async function readBackground(
  image: LoadedImage,
  requested: ImageMetadata,
  reported: ImageMetadata,
): Promise<string | undefined> {
  const claim = reported.background ?? requested.background;
  if (claim !== "transparent" && claim !== "opaque") return reported.background;
  const alpha = await readAlpha(image);
  if (alpha === false) return "opaque";
  return reported.background ?? (alpha && claim === "transparent" ? claim : undefined);
}

/** Metadata that all images of a response have in common. */
export const commonMetadata = (
  before: ImageMetadata | undefined,
  next: ImageMetadata,
): ImageMetadata =>
  before === undefined
    ? next
    : Object.fromEntries(
        Object.entries(before).filter(
          ([name, value]) => next[name as keyof ImageMetadata] === value,
        ),
      );

/** An upstream that accepted a quality and reports none has applied it. `auto` is not a quality. */
export function resolveQuality(requested: ImageMetadata, reported: ImageMetadata): ImageMetadata {
  const quality =
    reported.quality ?? (requested.quality === "auto" ? undefined : requested.quality);
  return quality === undefined ? {} : { quality };
}

/**
 * Tolerated deviation from an aspect ratio: vendors round sizes to steps of their own. Imagen's 4:3 is 1280x896, 7 %
 * too wide.
 */
const ratioTolerance = Math.log(1.08);

/** Options that the target accepted and ignored, as the generated image shows. */
export function ignoredOptions(
  requested: RequestedMetadata,
  actual: ImageMetadata,
): readonly (keyof ImageMetadata)[] {
  const names: (keyof ImageMetadata)[] = [];
  if (actual.size !== undefined && !matchesSize(actual.size, requested)) names.push("size");
  if (requested.background === "transparent" && actual.background === "opaque")
    names.push("background");
  return names;
}

/** Exact where a size was requested. Names such as 2K cannot be verified. */
function matchesSize(actual: string, { size, aspect }: RequestedMetadata): boolean {
  if (size !== undefined && parseSize(size)) return actual === size;
  const dimensions = parseSize(actual);
  return (
    aspect === undefined ||
    dimensions === undefined ||
    ratioDistance(dimensions, aspect) <= ratioTolerance
  );
}
