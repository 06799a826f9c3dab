/** The style watercolor: displaced edges, darker pigment at edges, paper grain, an unpainted margin. */
import {
  blur,
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  noiseTile,
  type Raster,
  unitOf,
  valueNoise,
} from "../raster/raster.ts";

export async function watercolor(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height } = raster;
  const unit = unitOf(raster);
  const [driftX, driftY, wash, edge, ragged] = await Promise.all([
    valueNoise(context, width, height, 17 * unit + 3),
    valueNoise(context, width, height, 17 * unit + 3),
    valueNoise(context, width, height, 150 * unit + 6),
    valueNoise(context, width, height, 130 * unit + 5),
    valueNoise(context, width, height, 13 * unit + 2),
  ]);
  const bent = new Uint8Array(raster.pixels.length);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const sx = Math.min(
          width - 1,
          Math.max(0, Math.round(x + (((driftX[i] ?? 128) - 128) / 128) * 4.4 * unit)),
        );
        const sy = Math.min(
          height - 1,
          Math.max(0, Math.round(y + (((driftY[i] ?? 128) - 128) / 128) * 4.4 * unit)),
        );
        const s = (sy * width + sx) * 4;
        bent[i * 4] = raster.pixels[s] ?? 0;
        bent[i * 4 + 1] = raster.pixels[s + 1] ?? 0;
        bent[i * 4 + 2] = raster.pixels[s + 2] ?? 0;
        bent[i * 4 + 3] = raster.pixels[s + 3] ?? 0;
      }
    }
  });
  const soft = await blur(context, { width, height, pixels: bent }, Math.max(0.6, 5 * unit));
  const bled = await blur(context, { width, height, pixels: bent }, Math.max(0.5, 1.3 * unit));
  const grain = noiseTile(context.random.fork("paper"));
  const out = new Uint8Array(raster.pixels.length);
  const margin = 30 * unit;
  const paper = [252, 249, 241] as const;
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const at = i * 4;
        const pooled = Math.max(0, luminance(soft, at) - luminance(bled, at));
        const tooth = ((grain[((y & 255) << 8) | (x & 255)] ?? 128) - 128) / 128;
        const flow = ((wash[i] ?? 128) - 128) / 128;
        // Thin paint lets the paper show through; pooled paint is darker.
        const cover = Math.min(1, Math.max(0, 0.88 + flow * 0.15 + tooth * 0.08 + pooled * 0.006));
        const density = 1 - pooled * 0.0075 - tooth * 0.03;
        const near =
          Math.min(x, y, width - 1 - x, height - 1 - y) +
          ((edge[i] ?? 128) - 128) * 0.13 * unit +
          ((ragged[i] ?? 128) - 128) * 0.05 * unit;
        const isolated =
          near < margin ? Math.min(1, Math.max(0, (margin - near) / (7 * unit + 1))) : 0;
        const hold = cover * (1 - isolated);
        for (let c = 0; c < 3; c++) {
          const ground = paper[c] ?? 255;
          out[at + c] = clampByte(
            ground +
              ((bled[at + c] ?? 0) * density - ground) * hold -
              (1 - hold) * Math.abs(tooth) * 5,
          );
        }
        out[at + 3] = bent[at + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}
