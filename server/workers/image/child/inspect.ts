/** Looks at every pixel of every page, and keeps none of them. */
import type { Sharp } from "sharp";
import type { ImageInspection } from "../messages.ts";
import { inMemory } from "./image-input.ts";
import type { Library, OpenedImage } from "./open-image.ts";
import { pngChunks } from "./png-chunks.ts";

export async function inspect(sharp: Library, picture: OpenedImage): Promise<ImageInspection> {
  const { type, width, height, alpha, alphaChannel, pages, orientation } = picture;
  const turned = orientation >= 5;
  const opaque = alpha ? await isOpaque(sharp, picture) : await decodeAll(picture);
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

/** A mean needs every pixel, and nothing is left of them but one. */
async function decodeAll(picture: OpenedImage): Promise<true> {
  const { width, height, pages } = picture;
  const image = picture.all();
  // Of a part, the library makes no smaller picture while it decodes, for which it would skip some of the pixels.
  const whole = pages > 1 ? image : image.extract({ left: 0, top: 0, width, height });
  await whole.resize(1, 1, { fit: "fill", fastShrinkOnLoad: false }).raw().toBuffer();
  return true;
}

/**
 * Exactly, to a single pixel that is 254 of 255: what lacks of full cover is packed without loss while it is decoded, and
 * compared with nothing at all of the same size, packed in the same way.
 */
async function isOpaque(sharp: Library, picture: OpenedImage): Promise<boolean> {
  const { width, height, pages } = picture;
  const lacking = toBinaryAlpha(picture, picture.all()).extractChannel("alpha").negate();
  const found = await toPng(lacking);
  const full = await toPng(zeroPlane(sharp, width, height * pages));
  return pixelData(found).equals(pixelData(full));
}

/**
 * Yes or no for each pixel packs to a fraction of what shades take. The step would take longer than all the others where a
 * picture came in a small file; then its shades are few, or at least no more than were sent. Of deeper pixels 255 is not
 * the most.
 */
function toBinaryAlpha(
  { length, width, height, pages, isEightBit }: OpenedImage,
  image: Sharp,
): Sharp {
  const packsWell = length < 2 * width * height * pages;
  return isEightBit && !packsWell ? image.threshold(255, { greyscale: false }) : image;
}

const toPng = (image: Sharp): Promise<Buffer> => image.png({ compressionLevel: 1 }).toBuffer();

/** One pixel that is repeated as it is needed: there is never more of it. */
const zeroPlane = (sharp: Library, width: number, height: number): Sharp =>
  sharp(Buffer.alloc(1), { raw: { width: 1, height: 1, channels: 1 } })
    .extend({ right: width - 1, bottom: height - 1, extendWith: "copy" })
    .toColourspace("b-w");

/** What stands before them may differ, such as how many go to an inch. */
function pixelData(png: Buffer): Buffer {
  for (const { kind, at } of pngChunks(inMemory(png))) {
    if (kind === "IDAT") return png.subarray(at);
  }
  throw new Error("A packed plane has no pixels.");
}
