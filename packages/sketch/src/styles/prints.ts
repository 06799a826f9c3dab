/** The styles comic (ink lines and halftone dots), woodblock, flat and pointillist. */
import { posterize } from "../raster/quantize.ts";
import {
  blur,
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
import { edgePlane } from "./lines.ts";

export async function comic(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height } = raster;
  const bold = await toSharp(context.sharp, raster)
    .modulate({ saturation: 1.3, brightness: 1.04 })
    .raw()
    .toBuffer();
  const [flat, lines] = [
    await posterize(context, { width, height, pixels: bold }, 18, 0),
    await edgePlane(context, raster, 2.1, 24),
  ];
  const pitch = Math.max(3, 9 * unitOf(raster));
  const out = new Uint8Array(flat.pixels);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const at = i * 4;
        const [u, v] = [(x + y) / pitch / Math.SQRT2, (x - y) / pitch / Math.SQRT2];
        const dot = Math.hypot(u - Math.round(u), v - Math.round(v));
        const dark = 1 - luminance(flat.pixels, at) / 255;
        const shade = dot < Math.sqrt(dark) * 0.42 ? 0.86 : 1.05;
        const ink = (lines[i] ?? 255) / 255;
        for (let c = 0; c < 3; c++)
          out[at + c] = clampByte((flat.pixels[at + c] ?? 0) * shade * ink + 22 * (1 - ink));
      }
    }
  });
  return { width, height, pixels: out };
}

export async function woodblock(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height } = raster;
  const unit = Math.max(0.3, unitOf(raster));
  const muted = await toSharp(context.sharp, raster)
    .modulate({ saturation: 1.05 })
    .raw()
    .toBuffer();
  const [flat, lines, fiber] = [
    await posterize(context, { width, height, pixels: muted }, 14, 0),
    await edgePlane(context, raster, 1.9, 20),
    await valueNoise(context, width, height, 5 * unit + 1),
  ];
  const grain = noiseTile(context.random.fork("washi"));
  const out = new Uint8Array(flat.pixels);
  const paper = [243, 228, 198] as const;
  const ink = [38, 42, 66] as const;
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const worn =
          0.2 +
          ((fiber[i] ?? 128) / 255) * 0.1 +
          (((grain[((y & 255) << 8) | (x & 255)] ?? 128) - 128) / 128) * 0.03;
        const line = 1 - (lines[i] ?? 255) / 255;
        for (let c = 0; c < 3; c++) {
          const pressed = (flat.pixels[i * 4 + c] ?? 0) * (1 - worn) + (paper[c] ?? 0) * worn;
          out[i * 4 + c] = clampByte(pressed + ((ink[c] ?? 0) - pressed) * line * 0.85);
        }
      }
    }
  });
  return { width, height, pixels: out };
}

/** Flat poster: areas of a single color. */
export async function flat(context: FilterContext, raster: Raster): Promise<Raster> {
  const smoothed = {
    ...raster,
    pixels: await blur(context, raster, Math.max(0.4, 0.9 * unitOf(raster))),
  };
  const posterized = await posterize(context, smoothed, 24, 0);
  // A median filter rounds the edges between areas and removes single pixels.
  return {
    ...posterized,
    pixels: await toSharp(context.sharp, posterized).median(3).raw().toBuffer(),
  };
}

export async function pointillist(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height, pixels } = raster;
  const unit = Math.max(0.3, unitOf(raster));
  const source = await blur(context, raster, 1.5 * unit);
  const out = new Uint8Array(source);
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width * 4; i < to * width * 4; i += 4)
      for (let c = 0; c < 3; c++) out[i + c] = clampByte((source[i + c] ?? 0) * 0.62 + 88);
  });
  const random = context.random.fork("dots");
  for (const radius of [8.6, 6.2, 4.6].map((r) => Math.max(1, r * unit))) {
    const step = radius * 1.75;
    for (let gy = 0; gy < height; gy += step) {
      await context.checkpoint();
      for (let gx = 0; gx < width; gx += step) {
        const [cx, cy] = [
          gx + random.between(-0.6, 0.6) * step,
          gy + random.between(-0.6, 0.6) * step,
        ];
        const [ix, iy] = [Math.round(cx), Math.round(cy)];
        if (ix < 0 || iy < 0 || ix >= width || iy >= height || random.next() < 0.34) continue;
        const s = (iy * width + ix) * 4;
        const shift = random.between(-18, 18);
        const color = [
          (source[s] ?? 0) + shift,
          (source[s + 1] ?? 0) + random.between(-10, 10),
          (source[s + 2] ?? 0) - shift,
        ];
        const reach = Math.ceil(radius);
        for (let dy = -reach; dy <= reach; dy++) {
          for (let dx = -reach; dx <= reach; dx++) {
            const [x, y] = [ix + dx, iy + dy];
            if (dx * dx + dy * dy > radius * radius || x < 0 || y < 0 || x >= width || y >= height)
              continue;
            const o = (y * width + x) * 4;
            for (let c = 0; c < 3; c++) out[o + c] = clampByte(color[c] ?? 0);
          }
        }
      }
    }
  }
  for (let i = 3; i < out.length; i += 4) out[i] = pixels[i] ?? 255;
  return { width, height, pixels: out };
}
