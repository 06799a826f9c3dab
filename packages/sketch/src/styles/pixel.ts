/** The style pixel: few large pixels and few colors with ordered dithering. */
import { posterize } from "../raster/quantize.ts";
import { type FilterContext, type Raster, toSharp } from "../raster/raster.ts";

export async function pixel(context: FilterContext, raster: Raster): Promise<Raster> {
  const short = Math.min(raster.width, raster.height);
  const cells = Math.min(short, cellsFor(context.detail));
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
  // Alpha is 0 or 255, so that edges are hard.
  for (let i = 3; i < small.length; i += 4) small[i] = (small[i] ?? 0) < 110 ? 0 : 255;
  const posterized = await posterize(context, { width, height, pixels: small }, 32, 13);
  const pixels = await toSharp(context.sharp, posterized)
    .resize(raster.width, raster.height, { fit: "fill", kernel: "nearest" })
    .raw()
    .toBuffer();
  return { width: raster.width, height: raster.height, pixels };
}

/** How many cells the short side has. */
function cellsFor(detail: number): number {
  if (detail < 0.8) return 96;
  if (detail < 1.3) return 128;
  return detail < 2 ? 160 : 200;
}
