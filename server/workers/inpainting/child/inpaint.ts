/** Runs the inpainting model and copies its result into the masked area only: every other pixel is unchanged. */
import sharp, { type Sharp } from "sharp";
import type { Onnxruntime, Session } from "../../embedding/child/onnxruntime.ts";
import type { Format, InpaintRequest } from "../messages.ts";
import type { InpaintImage } from "./inpaint-image.ts";

export async function inpaint(
  source: InpaintImage,
  { format, quality }: Pick<InpaintRequest, "format" | "quality">,
  { onnxruntime, session }: { readonly onnxruntime: Onnxruntime; readonly session: Session },
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

function encode(image: Sharp, format: Format, quality: number): Promise<Buffer> {
  if (format === "png") return image.png().toBuffer();
  // 0 is the lowest quality in the API and 1 in sharp.
  const options = { quality: Math.max(1, quality) };
  return (format === "jpeg" ? image.jpeg(options) : image.webp(options)).toBuffer();
}
