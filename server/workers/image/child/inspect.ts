/** Inspects an image by decoding every pixel of every page, in constant memory. */
import type { Sharp } from "sharp";
import type { ImageInspection } from "../messages.ts";
import { inMemory } from "./image-input.ts";
import type { Library, OpenedImage } from "./open-image.ts";
import { pngChunks } from "./png-chunks.ts";

export async function inspect(sharp: Library, opened: OpenedImage): Promise<ImageInspection> {
  const { type, width, height, alpha, alphaChannel, pages, orientation } = opened;
  const turned = orientation >= 5;
  const opaque = alpha ? await isOpaque(sharp, opened) : await decodeAll(opened);
  return {
    type,
    width: turned ? height : width,
    height: turned ? width : height,
    alpha,
    alphaChannel,
    opaque,
    pages,
    orientation,
  };
}

/** Resizing to one pixel decodes all pixels and keeps one. */
async function decodeAll(opened: OpenedImage): Promise<true> {
  const { width, height, pages } = opened;
  const image = opened.all();
  // Extracting disables shrink-on-load, which would skip some of the pixels.
  const whole = pages > 1 ? image : image.extract({ left: 0, top: 0, width, height });
  await whole.resize(1, 1, { fit: "fill", fastShrinkOnLoad: false }).raw().toBuffer();
  return true;
}

/**
 * Exact, to a single pixel of 254 of 255: the inverted alpha channel is losslessly compressed while it is decoded, and
 * compared with an all-zero plane of the same size, compressed in the same way.
 */
async function isOpaque(sharp: Library, opened: OpenedImage): Promise<boolean> {
  const { width, height, pages } = opened;
  const invertedAlpha = toBinaryAlpha(opened, opened.all()).extractChannel("alpha").negate();
  const actual = await toPng(invertedAlpha);
  const opaque = await toPng(zeroPlane(sharp, width, height * pages));
  return pixelData(actual).equals(pixelData(opaque));
}

/**
 * A binary plane compresses to a fraction of the size of gray levels. For an image from a small file, the threshold
 * would take longer than all other steps, and its gray levels compress well anyway. With more than 8 bits per channel,
 * 255 is not the maximum.
 */
function toBinaryAlpha(
  { length, width, height, pages, isEightBit }: OpenedImage,
  image: Sharp,
): Sharp {
  const packsWell = length < 2 * width * height * pages;
  return isEightBit && !packsWell ? image.threshold(255, { greyscale: false }) : image;
}

const toPng = (image: Sharp): Promise<Buffer> => image.png({ compressionLevel: 1 }).toBuffer();

/** One pixel, repeated on demand: the plane is never in memory as a whole. */
const zeroPlane = (sharp: Library, width: number, height: number): Sharp =>
  sharp(Buffer.alloc(1), { raw: { width: 1, height: 1, channels: 1 } })
    .extend({ right: width - 1, bottom: height - 1, extendWith: "copy" })
    .toColourspace("b-w");

/** The chunks before IDAT may differ, such as the pixel density. */
function pixelData(png: Buffer): Buffer {
  for (const { kind, at } of pngChunks(inMemory(png))) {
    if (kind === "IDAT") return png.subarray(at);
  }
  throw new Error("A compressed plane has no pixel data.");
}
