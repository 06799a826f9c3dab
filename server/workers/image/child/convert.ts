/** Converts (transcodes) images to other formats (PNG, JPEG, WebP, AVIF, GIF), and masks to other conventions. */
import type { Sharp } from "sharp";
import type { ImageConversion, MaskForm } from "../messages.ts";
import type { Library, OpenedImage } from "./open-image.ts";

/** Strips all metadata (EXIF, profiles, comments) after a conversion to sRGB. */
export function convert(
  opened: OpenedImage,
  { format, quality, flatten, alpha, packed }: ImageConversion,
): Promise<Buffer> {
  const isAnimated = opened.pages > 1 && (format === "gif" || format === "webp");
  const image = isAnimated ? opened.all() : opened.first();
  const opaque = flatten || format === "jpeg" ? image.flatten({ background: "#ffffff" }) : image;
  const withAlpha = alpha && !flatten && format !== "jpeg" ? opaque.ensureAlpha() : opaque;
  // The PNG filter is chosen line by line. A palette would be smaller still, but change the image.
  if (packed && format === "png") return withAlpha.png(maxCompression).toBuffer();
  return encode(withAlpha, format, quality).toBuffer();
}

const maxCompression = { compressionLevel: 9, adaptiveFiltering: true } as const;

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

/**
 * The intermediate form is a plane that is 255 where the image may change: its transparent areas, or in a mask without
 * transparency its white areas. Gray levels are kept.
 */
export async function convertMask(
  sharp: Library,
  opened: OpenedImage,
  { convention, orientation = 1 }: MaskForm,
): Promise<Buffer> {
  const { data, info } = await applyOrientation(
    sharp,
    await extractPlane(opened.first(), opened.alpha),
    orientation,
  );
  const { width, height } = info;
  const change = opened.alpha ? invert(data) : data;
  const raw = { width, height, channels: 1 } as const;
  if (convention !== "transparent") {
    return sharp(convention === "white" ? change : invert(change), { raw })
      .toColourspace("b-w")
      .png()
      .toBuffer();
  }
  return sharp({ create: { width, height, channels: 3, background: "#000000" } })
    .joinChannel(invert(change), { raw })
    .png()
    .toBuffer();
}

/** One byte per pixel: its alpha where there is an alpha channel, else its gray level. */
const extractPlane = (image: Sharp, alpha: boolean) =>
  (alpha ? image.extractChannel("alpha") : image.greyscale())
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });

type Plane = Awaited<ReturnType<typeof extractPlane>>;

async function applyOrientation(sharp: Library, found: Plane, orientation: number): Promise<Plane> {
  const turn = orientations[orientation];
  if (!turn) return found;
  const { width, height } = found.info;
  const image = sharp(found.data, { raw: { width, height, channels: 1 } }).toColourspace("b-w");
  return turn(image).raw().toBuffer({ resolveWithObject: true });
}

/** By EXIF orientation. Whatever the order of calls, sharp mirrors first and rotates afterwards. */
const orientations: Readonly<Record<number, (image: Sharp) => Sharp>> = {
  2: (image) => image.flop(),
  3: (image) => image.rotate(180),
  4: (image) => image.flip(),
  5: (image) => image.flip().rotate(90),
  6: (image) => image.rotate(90),
  7: (image) => image.flop().rotate(90),
  8: (image) => image.rotate(270),
};

function invert(bytes: Uint8Array): Buffer {
  const inverted = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i++) inverted[i] = 255 - (bytes[i] as number);
  return inverted;
}
