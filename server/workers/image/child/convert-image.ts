/** Converts images to other formats: PNG, JPEG, WebP, AVIF, GIF. */
import type { Sharp } from "sharp";
import type { ImageConversion } from "../messages.ts";
import type { OpenedImage } from "./open-image.ts";

/** Strips all metadata (EXIF, profiles, comments) after a conversion to sRGB. */
export function convertImage(
  opened: OpenedImage,
  { format, quality, flatten, alpha }: ImageConversion,
): Promise<Buffer> {
  const isAnimated = opened.pages > 1 && (format === "gif" || format === "webp");
  const image = isAnimated ? opened.all() : opened.first();
  const opaque = flatten || format === "jpeg" ? image.flatten({ background: "#ffffff" }) : image;
  const withAlpha = alpha && !flatten && format !== "jpeg" ? opaque.ensureAlpha() : opaque;
  return encode(withAlpha, format, quality).toBuffer();
}

function encode(
  image: Sharp,
  format: ImageConversion["format"],
  requestedQuality: number | undefined,
): Sharp {
  // 0 is the lowest quality in the API and 1 in sharp.
  const quality = Math.max(1, requestedQuality ?? 100);
  switch (format) {
    case "png":
      return image.png();
    case "jpeg":
      // High quality includes full color resolution: no chroma subsampling above 85.
      return image.jpeg({ quality, chromaSubsampling: quality > 85 ? "4:4:4" : "4:2:0" });
    case "webp":
      // Lossless unless a quality is requested. More effort takes several times as long for a few per cent.
      return requestedQuality === undefined
        ? image.webp({ lossless: true, effort: 1 })
        : image.webp({ quality });
    case "avif":
      // Lossless AVIF would be larger than a PNG and take many seconds: 80 looks the same.
      return image.avif({ quality: Math.max(1, requestedQuality ?? 80), effort: 2 });
    case "gif":
      return image.gif();
  }
}
