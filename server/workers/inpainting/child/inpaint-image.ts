/** Decodes an image and its mask, and checks that they fit. */
import sharp from "sharp";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { InpaintRequest } from "../messages.ts";

export interface InpaintImage {
  readonly width: number;
  readonly height: number;
  /** RGBA. */
  readonly pixels: Uint8Array;
  readonly hasAlpha: boolean;
  /** 0 where the image is to be filled, 255 elsewhere: the model's own convention. */
  readonly keep: Uint8Array;
}

const maxPixels = 4096 * 4096;

export async function readInpaintImage(request: InpaintRequest): Promise<InpaintImage> {
  const image = await decode(request.image, "image");
  const { width, height } = image;
  const size = `${width}x${height}`;
  if (request.size !== undefined && request.size !== size) {
    const message = `This model keeps the size of the image, which is ${size}: omit 'size', or send this size.`;
    throw new GatewayError("invalid_size", message, { param: "size" });
  }
  const mask = await decode(request.mask, "mask");
  if (mask.width !== width || mask.height !== height) {
    const other = `${mask.width}x${mask.height}`;
    throw invalidValue(
      `The mask is ${other} and the image ${size}: they must be of one size.`,
      "mask",
    );
  }
  if (!mask.hasAlpha) throw invalidValue("The mask has no alpha channel.", "mask");
  const keep = new Uint8Array(width * height);
  // OpenAI's rule: fully transparent pixels are edited.
  for (let i = 0; i < keep.length; i += 1) keep[i] = mask.pixels[i * 4 + 3] === 0 ? 0 : 255;
  if (!keep.includes(0)) throw invalidValue("The mask has no fully transparent pixel.", "mask");
  return { width, height, pixels: image.pixels, hasAlpha: image.hasAlpha, keep };
}

async function decode(bytes: Uint8Array, param: "image" | "mask") {
  try {
    const { width = 0, height = 0, hasAlpha = false } = await sharp(bytes).metadata();
    if (width * height > maxPixels) {
      throw invalidValue(`The ${param} has more than ${maxPixels} pixels.`, param);
    }
    const { data, info } = await sharp(bytes)
      .autoOrient()
      .toColourspace("srgb")
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, pixels: data, hasAlpha };
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_image_file", `The ${param} cannot be decoded.`, {
      param,
      cause,
    });
  }
}

const invalidValue = (message: string, param: string) =>
  new GatewayError("invalid_value", message, { param });
