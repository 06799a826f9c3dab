/** Porter-Duff compositing of rasters. */
import { clampByte, type FilterContext, forEachBand, type Raster } from "./raster.ts";

/** `top` over `ground`. Both have the same size and straight (not premultiplied) alpha. */
export async function compositeOver(
  context: FilterContext,
  ground: Raster,
  top: Raster,
): Promise<Raster> {
  const out = new Uint8Array(ground.pixels.length);
  await forEachBand(context, ground.width, ground.height, (from, to) => {
    for (let i = from * ground.width * 4; i < to * ground.width * 4; i += 4) {
      const a = (top.pixels[i + 3] ?? 0) / 255;
      const b = ((ground.pixels[i + 3] ?? 0) / 255) * (1 - a);
      const sum = a + b;
      for (let c = 0; c < 3; c++) {
        const mixed = (top.pixels[i + c] ?? 0) * a + (ground.pixels[i + c] ?? 0) * b;
        out[i + c] = sum === 0 ? 0 : clampByte(mixed / sum);
      }
      out[i + 3] = Math.round(sum * 255);
    }
  });
  return { ...ground, pixels: out };
}
