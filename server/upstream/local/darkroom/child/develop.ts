/** The work on pixels: making another kind of file, turning a mask into another kind of mask. */
import type { Sharp } from "sharp";
import type { Conversion, MaskSense } from "../ask.ts";
import type { Library, Opened } from "./open-picture.ts";

/** Everything that describes the picture stays behind (EXIF, profiles, comments), after its colours are made sRGB. */
export function convert(
  picture: Opened,
  { format, quality, flatten }: Conversion,
): Promise<Buffer> {
  const moves = picture.pages > 1 && (format === "gif" || format === "webp");
  const image = moves ? picture.all() : picture.first();
  const opaque = flatten || format === "jpeg" ? image.flatten({ background: "#ffffff" }) : image;
  return encoded(opaque, format, quality).toBuffer();
}

function encoded(image: Sharp, format: Conversion["format"], asked: number | undefined): Sharp {
  // 0 is the lowest quality here and 1 in sharp.
  const quality = Math.max(1, asked ?? 100);
  switch (format) {
    case "png":
      return image.png();
    case "jpeg":
      // Whoever wants nearly all of a picture wants its colours as sharp as its shades.
      return image.jpeg({ quality, chromaSubsampling: quality > 85 ? "4:4:4" : "4:2:0" });
    case "webp":
      // Nobody asked for a loss, so there is none. More effort takes several times as long for a few per cent.
      return asked === undefined
        ? image.webp({ lossless: true, effort: 1 })
        : image.webp({ quality });
    case "avif":
      // Without a loss it would be larger than a PNG and take many seconds: 80 looks the same.
      return image.avif({ quality: Math.max(1, asked ?? 80), effort: 2 });
    case "gif":
      return image.gif();
  }
}

/**
 * In between, a plane that is 255 where the picture may change: what is transparent, and in a mask without transparency
 * what is white. Shades stay shades.
 */
export async function mask(sharp: Library, picture: Opened, to: MaskSense): Promise<Buffer> {
  const { data, info } = await plane(picture.first(), picture.alpha);
  const { width, height } = info;
  const change = picture.alpha ? inverted(data) : data;
  const raw = { width, height, channels: 1 } as const;
  if (to !== "transparent") {
    return sharp(to === "white" ? change : inverted(change), { raw })
      .toColourspace("b-w")
      .png()
      .toBuffer();
  }
  return sharp({ create: { width, height, channels: 3, background: "#000000" } })
    .joinChannel(inverted(change), { raw })
    .png()
    .toBuffer();
}

/** One byte for each pixel: its transparency where there is one, else its shade. */
const plane = (image: Sharp, alpha: boolean) =>
  (alpha ? image.extractChannel("alpha") : image.greyscale())
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });

function inverted(bytes: Uint8Array): Buffer {
  const other = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i++) other[i] = 255 - (bytes[i] as number);
  return other;
}
