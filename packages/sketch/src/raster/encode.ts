/** Encodes pixels as PNG, JPEG or WebP. */
import type { Format } from "../options.ts";
import { type Raster, type Sharp, toSharp } from "./raster.ts";

export async function encode(
  sharp: Sharp,
  raster: Raster,
  format: Exclude<Format, "gif" | "svg">,
  compression: number,
  opaque: boolean,
): Promise<Uint8Array> {
  const quality = Math.max(1, compression);
  const image = toSharp(sharp, raster);
  if (format === "jpeg") {
    return image
      .flatten({ background: "#ffffff" })
      .jpeg({ quality, chromaSubsampling: quality > 85 ? "4:4:4" : "4:2:0" })
      .toBuffer();
  }
  const plain = opaque ? image.removeAlpha() : image;
  return format === "webp"
    ? plain.webp({ quality, effort: 3 }).toBuffer()
    : plain.png({ compressionLevel: 6 }).toBuffer();
}

/** True if every pixel has full alpha. */
export function isOpaque({ pixels }: Raster): boolean {
  for (let i = 3; i < pixels.length; i += 4) if (pixels[i] !== 255) return false;
  return true;
}
