/** Converts the mask of an edit to the convention of the upstream: transparent, white or black where it may change. */
import type { Sharp } from "sharp";
import type { MaskConvention } from "../messages.ts";
import type { Library, OpenedImage } from "./open-image.ts";

/**
 * The intermediate form is a plane that is 255 where the image may change: its transparent areas, or in a mask without
 * transparency its white areas. Gray levels are kept.
 */
export async function convertMask(
  sharp: Library,
  opened: OpenedImage,
  convention: MaskConvention,
): Promise<Buffer> {
  const { data, info } = await extractPlane(opened.first(), opened.alpha);
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

function invert(bytes: Uint8Array): Buffer {
  const inverted = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i++) inverted[i] = 255 - (bytes[i] as number);
  return inverted;
}
