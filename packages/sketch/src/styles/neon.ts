/** The style neon: the image darkened, with its edges as glowing tubes. */
import {
  blur,
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  type Raster,
  unitOf,
} from "../raster/raster.ts";

export async function neon(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height, pixels } = raster;
  const unit = unitOf(raster);
  const smoothed = await blur(context, raster, Math.max(0.5, 1.1 * unit));
  const tubes = new Uint8Array(pixels.length);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = Math.max(1, from); y < Math.min(height - 1, to); y++) {
      for (let x = 1; x < width - 1; x++) {
        const i = (y * width + x) * 4;
        const gx = luminance(smoothed, i + 4) - luminance(smoothed, i - 4);
        const gy = luminance(smoothed, i + width * 4) - luminance(smoothed, i - width * 4);
        const edge = Math.min(1, Math.max(0, (Math.hypot(gx, gy) - 5) / 34));
        if (edge === 0) continue;
        const [r, g, b] = [smoothed[i] ?? 0, smoothed[i + 1] ?? 0, smoothed[i + 2] ?? 0];
        const [low, high] = [Math.min(r, g, b), Math.max(r, g, b)];
        const gray = high - low < 26;
        // Gray edges glow in magenta at the top and in cyan at the bottom.
        const t = y / height;
        const own = (v: number): number => (gray ? 0 : ((v - low) / (high - low || 1)) * 255);
        const glow = gray
          ? [255 * (1 - t) + 40 * t, 60 * (1 - t) + 225 * t, 200 * (1 - t) + 255 * t]
          : [own(r), own(g), own(b)];
        tubes[i] = (glow[0] ?? 0) * edge;
        tubes[i + 1] = (glow[1] ?? 0) * edge;
        tubes[i + 2] = (glow[2] ?? 0) * edge;
        tubes[i + 3] = 255;
      }
    }
    for (let y = from; y < to; y++)
      for (let x = 0; x < width; x++) tubes[(y * width + x) * 4 + 3] = 255;
  });
  const tubeLayer = { width, height, pixels: tubes };
  const [halo, wide] = await Promise.all([
    blur(context, tubeLayer, Math.max(0.6, 4 * unit)),
    blur(context, tubeLayer, Math.max(1, 16 * unit)),
  ]);
  const out = new Uint8Array(pixels.length);
  const dusk = [0.42, 0.3, 0.56] as const;
  const floor = [14, 4, 34] as const;
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width * 4; i < to * width * 4; i += 4) {
      for (let c = 0; c < 3; c++) {
        const night = (pixels[i + c] ?? 0) * (dusk[c] ?? 0.3) + (floor[c] ?? 0);
        const light =
          (tubes[i + c] ?? 0) * 0.95 + (halo[i + c] ?? 0) * 1.25 + (wide[i + c] ?? 0) * 1.7;
        out[i + c] = clampByte(255 - ((255 - night) * (255 - Math.min(255, light))) / 255);
      }
      out[i + 3] = pixels[i + 3] ?? 255;
    }
  });
  return { width, height, pixels: out };
}
