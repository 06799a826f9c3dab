/** Converts the mask of an edit to the convention of the upstream: transparent, white or black where it may change. */
import type { Sharp } from "sharp";
import type { MaskForm } from "../messages.ts";
import type { Library, OpenedImage } from "./open-image.ts";

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
