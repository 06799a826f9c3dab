/** Pixel art: few large pixels, few colors, an ordered dither between them. */
import { posterize } from "../raster/quantize.ts";
import { type FilterContext, type Raster, toSharp } from "../raster/raster.ts";

export async function pixel(context: FilterContext, raster: Raster): Promise<Raster> {
  const short = Math.min(raster.width, raster.height);
  const cells = Math.min(
    short,
    context.detail < 0.8 ? 96 : context.detail < 1.3 ? 128 : context.detail < 2 ? 160 : 200,
  );
  const factor = cells / short;
  const [width, height] = [
    Math.max(1, Math.round(raster.width * factor)),
    Math.max(1, Math.round(raster.height * factor)),
  ];
  const small = await toSharp(context.sharp, raster)
    .resize(width, height, { fit: "fill", kernel: "lanczos3" })
    .modulate({ saturation: 1.12 })
    .raw()
    .toBuffer();
  // Hard edges of transparency: pixels are there or they are not.
  for (let i = 3; i < small.length; i += 4) small[i] = (small[i] ?? 0) < 110 ? 0 : 255;
  const few = await posterize(context, { width, height, pixels: small }, 32, 13);
  const pixels = await toSharp(context.sharp, few)
    .resize(raster.width, raster.height, { fit: "fill", kernel: "nearest" })
    .raw()
    .toBuffer();
  return { width: raster.width, height: raster.height, pixels };
}
