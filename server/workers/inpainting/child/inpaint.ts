/** Runs the inpainting model and copies its result into the masked area only: every other pixel is unchanged. */

import sharp, { type Sharp } from "sharp";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Onnxruntime, OnnxSession } from "../../embedding/child/onnxruntime.ts";
import type { InpaintFormat, InpaintRequest } from "../messages.ts";

export async function inpaint(
  source: InpaintImage,
  { format, quality }: Pick<InpaintRequest, "format" | "quality">,
  { onnxruntime, session }: { readonly onnxruntime: Onnxruntime; readonly session: OnnxSession },
): Promise<Uint8Array> {
  const { width, height, pixels, keep, hasAlpha } = source;
  const area = width * height;
  const planes = new Uint8Array(area * 3);
  for (let i = 0; i < area; i += 1) {
    for (let c = 0; c < 3; c += 1) planes[c * area + i] = pixels[i * 4 + c]!;
  }
  const { result } = await session.run(
    {
      image: new onnxruntime.Tensor("uint8", planes, [1, 3, height, width]),
      mask: new onnxruntime.Tensor("uint8", keep, [1, 1, height, width]),
    },
    ["result"],
  );
  const filled = result?.data;
  if (!(filled instanceof Uint8Array) || filled.length !== area * 3) {
    throw new Error("the inpainting model returned an image of another size");
  }
  // The model also changes pixels around the masked area: these are ignored.
  const composed = pixels.slice();
  for (let i = 0; i < area; i += 1) {
    if (keep[i] !== 0) continue;
    for (let c = 0; c < 3; c += 1) composed[i * 4 + c] = filled[c * area + i]!;
    composed[i * 4 + 3] = 255;
  }
  const image = sharp(composed, { raw: { width, height, channels: 4 } });
  return encode(hasAlpha ? image : image.removeAlpha(), format, quality);
}

function encode(image: Sharp, format: InpaintFormat, quality: number): Promise<Buffer> {
  if (format === "png") return image.png().toBuffer();
  // 0 is the lowest quality in the API and 1 in sharp.
  const options = { quality: Math.max(1, quality) };
  return (format === "jpeg" ? image.jpeg(options) : image.webp(options)).toBuffer();
}

interface InpaintImage {
  readonly width: number;
  readonly height: number;
  /** RGBA. */
  readonly pixels: Uint8Array;
  readonly hasAlpha: boolean;
  /** 0 where the image is to be filled, 255 elsewhere: the model's own convention. */
  readonly keep: Uint8Array;
}

const maxPixels = 4096 * 4096;

/** Decodes an image and its mask, and checks that they match. */
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
      `The mask is ${other} and the image ${size}: they must have the same size.`,
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
