/** What is said of a delivered picture: what its own bytes show, and else what those who know have said. */
import type { ImageMetadata } from "../upstream/contract.ts";
import { parseSize, ratioDistance } from "../upstream/image-sizes.ts";
import { type Held, imageTypeOf, readAlpha, readDimensions } from "./image-head.ts";

/** What a target was asked for natively. */
export interface RequestedMetadata extends ImageMetadata {
  /** In place of a size, where it knows only shapes. */
  readonly aspect?: string;
}

export interface MetadataSources {
  /** What the target was asked for natively. */
  readonly requested: RequestedMetadata;
  /** What the upstream says. */
  readonly reported: ImageMetadata;
  /** The gateway has put it on white. */
  readonly flattened: boolean;
}

/** What the bytes themselves say, and what they do not contradict. */
export async function readMetadata(
  picture: Held,
  { requested: asked, reported: told, flattened }: MetadataSources,
): Promise<ImageMetadata> {
  const type = imageTypeOf(picture);
  const seen = await readDimensions(picture);
  const background = flattened ? "opaque" : await readBackground(picture, asked, told);
  return {
    ...(seen && { size: `${seen.width}x${seen.height}` }),
    ...(type && { output_format: type.replace(/^image\/(?:svg\+)?/, "").replace("xml", "svg") }),
    ...(background !== undefined && { background }),
  };
}

/**
 * A picture without an alpha channel is opaque, whoever says what. One that has it may be opaque all the same: only its
 * pixels tell, which nobody decodes here, and the upstream, which is believed. What was asked for is no such word.
 */
async function readBackground(
  picture: Held,
  asked: ImageMetadata,
  told: ImageMetadata,
): Promise<string | undefined> {
  const claim = told.background ?? asked.background;
  if (claim !== "transparent" && claim !== "opaque") return told.background;
  const alpha = await readAlpha(picture);
  if (alpha === false) return "opaque";
  return told.background ?? (alpha && claim === "transparent" ? claim : undefined);
}

/** What is true of all pictures of an answer. */
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

/** An upstream that took a quality, and says nothing of it, has done what it was asked. `auto` is no fact. */
export function resolveQuality(asked: ImageMetadata, told: ImageMetadata): ImageMetadata {
  const quality = told.quality ?? (asked.quality === "auto" ? undefined : asked.quality);
  return quality === undefined ? {} : { quality };
}

/** How far a picture may be from its shape: vendors draw in steps of their own. Imagen's 4:3 is 1280x896, 7 % too wide. */
const ratioTolerance = Math.log(1.08);

/** Options that the target took, and did not heed, by what came. */
export function ignoredOptions(
  asked: RequestedMetadata,
  came: ImageMetadata,
): readonly (keyof ImageMetadata)[] {
  const names: (keyof ImageMetadata)[] = [];
  if (came.size !== undefined && !matchesSize(came.size, asked)) names.push("size");
  if (asked.background === "transparent" && came.background === "opaque") names.push("background");
  return names;
}

/** To the pixel where a size was asked for. Names such as 2K say nothing that could be seen. */
function matchesSize(came: string, { size, aspect }: RequestedMetadata): boolean {
  if (size !== undefined && parseSize(size)) return came === size;
  const seen = parseSize(came);
  return (
    aspect === undefined || seen === undefined || ratioDistance(seen, aspect) <= ratioTolerance
  );
}
