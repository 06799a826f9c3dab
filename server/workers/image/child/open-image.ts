/** Checks an image against decompression bombs before it is decoded, and opens it within the pixel limit. */
import type { Metadata, Sharp } from "sharp";
import { imageSize, sniffImage } from "../../../lib/sniff-image.ts";
import type { ImageWorkerSpec } from "../messages.ts";
import { checkCost } from "./check-cost.ts";
import { type ImageInput, UnprocessableImageError } from "./image-input.ts";
import { pngChunks } from "./png-chunks.ts";

export type Library = typeof import("sharp").default;

/**
 * Allowlist of decoders: other formats that the library supports (SVG, PDF, TIFF) are blocked, whatever the file
 * claims to be.
 */
const loaders = ["Png", "Jpeg", "Webp", "Nsgif", "Heif"].map((name) => `VipsForeignLoad${name}`);

export function restrictLoaders(sharp: Library): Library {
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: loaders });
  return sharp;
}

/** A JPEG may contain a thumbnail and profiles before its dimensions. */
const headBytes = 256 * 1024;

export interface OpenedImage {
  readonly type: string;
  /** Of one page, as stored. */
  readonly width: number;
  readonly height: number;
  readonly pages: number;
  readonly alpha: boolean;
  /** Transparency is an alpha channel, and not a list of transparent colors (tRNS). */
  readonly alphaChannel: boolean;
  /** The EXIF orientation; from 5 on width and height are swapped. */
  readonly orientation: number;
  /** The first page, with its orientation applied. */
  first(): Sharp;
  /** All pages, stacked vertically. */
  all(): Sharp;
}

export async function openImage(
  sharp: Library,
  file: ImageInput,
  { maxPixels }: ImageWorkerSpec,
): Promise<OpenedImage> {
  const head = file.peek(0, headBytes);
  const type = sniffImage(head);
  if (type === undefined) {
    throw new UnprocessableImageError("unknown", "is not a PNG, JPEG, WebP, GIF or AVIF file");
  }
  const declared = imageSize(head);
  const pngColorType = head[pngColorTypeOffset];
  // The library has the same limit; this check has the better message.
  if (declared && declared.width * declared.height > maxPixels) {
    throw tooLarge(maxPixels, declared);
  }
  if (type === "image/png" && !hasPngEnd(file)) {
    throw new UnprocessableImageError("undecodable", "is truncated");
  }
  checkCost(file, type, { pixels: (declared?.width ?? 0) * (declared?.height ?? 0), maxPixels });
  // `error`: missing or damaged data fails; mere warnings do not, because every viewer shows such images.
  const options = { limitInputPixels: maxPixels, failOn: "error" } as const;
  const { input } = file;
  let metadata: Metadata;
  try {
    metadata = await sharp(input, options).metadata();
  } catch (cause) {
    throw toUnprocessable(cause, maxPixels);
  }
  const { pages = 1, orientation = 1 } = metadata;
  const hasTransparentColors = type === "image/png" && !hasAlphaColorType(pngColorType);
  return {
    type,
    width: metadata.width,
    height: metadata.height,
    pages,
    alpha: metadata.hasAlpha,
    alphaChannel: metadata.hasAlpha && !hasTransparentColors,
    orientation,
    first: () => sharp(input, options).autoOrient(),
    all: () => (pages > 1 ? sharp(input, { ...options, animated: true }) : sharp(input, options)),
  };
}

/** The color type in the PNG header: 4 is gray with alpha, 6 is RGB with alpha. */
const pngColorTypeOffset = 25;
const hasAlphaColorType = (kind: number | undefined): boolean => kind === 4 || kind === 6;

/** Maps errors that the library throws while it decodes. */
export function toUnprocessable(cause: unknown, maxPixels: number): UnprocessableImageError {
  if (cause instanceof UnprocessableImageError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return /pixel limit/i.test(message)
    ? tooLarge(maxPixels)
    : new UnprocessableImageError(
        "undecodable",
        "cannot be decoded: it is damaged or truncated",
        cause,
      );
}

/** `size`: absent if only the decoder knows it. */
function tooLarge(
  maxPixels: number,
  size?: { readonly width: number; readonly height: number },
): UnprocessableImageError {
  const most = `${maxPixels / 1_000_000} million`;
  return new UnprocessableImageError(
    "too many pixels",
    size
      ? `has ${size.width}x${size.height} pixels, and at most ${most} are accepted`
      : `has more than ${most} pixels`,
  );
}

/** The library accepts a PNG with all pixels even if the end of the file is missing. */
function hasPngEnd(file: ImageInput): boolean {
  for (const { kind } of pngChunks(file)) if (kind === "IEND") return true;
  return false;
}
