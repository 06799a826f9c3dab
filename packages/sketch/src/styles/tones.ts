/** The styles mono, sepia and pastel. */
import {
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  noiseTile,
  type Raster,
  toSharp,
  unitOf,
  valueNoise,
} from "../raster/raster.ts";

async function duotone(
  context: FilterContext,
  raster: Raster,
  dark: readonly number[],
  light: readonly number[],
  contrast: number,
): Promise<Raster> {
  const out = new Uint8Array(raster.pixels.length);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      const flat = luminance(raster.pixels, i) / 255;
      const t = Math.min(1, Math.max(0, 0.5 + (flat - 0.5) * contrast));
      for (let c = 0; c < 3; c++)
        out[i + c] = (dark[c] ?? 0) + ((light[c] ?? 255) - (dark[c] ?? 0)) * t;
      out[i + 3] = raster.pixels[i + 3] ?? 255;
    }
  });
  return { ...raster, pixels: out };
}

export const mono = (context: FilterContext, raster: Raster): Promise<Raster> =>
  duotone(context, raster, [14, 14, 17], [250, 249, 246], 1.18);
export const sepia = (context: FilterContext, raster: Raster): Promise<Raster> =>
  duotone(context, raster, [44, 28, 18], [250, 236, 208], 1.05);

export async function pastel(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height } = raster;
  const unit = Math.max(0.3, unitOf(raster));
  const pale = await toSharp(context.sharp, raster)
    .modulate({ saturation: 0.86, brightness: 1.08 })
    .raw()
    .toBuffer();
  const [grain, strokes] = [
    noiseTile(context.random.fork("chalk")),
    await valueNoise(context, width, height, 3.4 * unit + 1),
  ];
  const out = new Uint8Array(pale.length);
  const paper = [247, 240, 232] as const;
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        // Chalk leaves gaps in the grain of the paper, along the slant of the strokes.
        const slant = grain[(((x + y * 2) & 255) << 8) | ((y >> 1) & 255)] ?? 128;
        const tooth = ((slant - 128) / 128) * 0.17 + (((strokes[i] ?? 128) - 128) / 128) * 0.16;
        const cover = Math.min(1, Math.max(0.35, 0.85 + tooth));
        for (let c = 0; c < 3; c++)
          out[i * 4 + c] = clampByte(
            (paper[c] ?? 255) + ((pale[i * 4 + c] ?? 0) - (paper[c] ?? 255)) * cover,
          );
        out[i * 4 + 3] = pale[i * 4 + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}
