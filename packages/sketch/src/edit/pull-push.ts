/**
 * Pull-push interpolation: averages of known pixels go up an image pyramid, and fill the unknown pixels on the way
 * down.
 */
import {
  type FilterContext,
  forEachBand,
  noiseTile,
  type Raster,
  toSharp,
} from "../raster/raster.ts";

interface Level {
  readonly width: number;
  readonly height: number;
  /** Five values per pixel: r, g, b, alpha, weight. */
  readonly sums: Float32Array;
}

const workingEdge = 384;

/** `coarseness` is the strength of the grain that is added, because a perfectly smooth area would be visible. */
export async function pullPushFill(
  context: FilterContext,
  raster: Raster,
  change: Uint8Array,
  coarseness = 0.03,
): Promise<Raster> {
  const { width, height } = raster;
  const factor = Math.min(1, workingEdge / Math.max(width, height));
  const [w, h] = [
    Math.max(1, Math.round(width * factor)),
    Math.max(1, Math.round(height * factor)),
  ];
  const known = await averageKnown(context, raster, change, w, h);
  const levels: Level[] = [known];
  while ((levels.at(-1)?.width ?? 1) > 1 || (levels.at(-1)?.height ?? 1) > 1) {
    const last = levels.at(-1);
    if (last === undefined) break;
    levels.push(downsample(last));
    await context.checkpoint();
  }
  for (let i = levels.length - 2; i >= 0; i--) {
    const [fine, coarse] = [levels[i], levels[i + 1]];
    if (fine !== undefined && coarse !== undefined) fillUnknown(fine, coarse);
  }
  const small = new Uint8Array(w * h * 4);
  for (let i = 0; i < w * h; i++)
    for (let c = 0; c < 4; c++) small[i * 4 + c] = Math.round(known.sums[i * 5 + c] ?? 0);
  const smooth = await toSharp(context.sharp, { width: w, height: h, pixels: small })
    .blur(1.2)
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .raw()
    .toBuffer();
  const grain = noiseTile(context.random.fork("heal"));
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) {
      const speck = ((grain[i & 65_535] ?? 128) - 128) * coarseness;
      for (let c = 0; c < 3; c++) {
        smooth[i * 4 + c] = Math.max(0, Math.min(255, (smooth[i * 4 + c] ?? 0) + speck));
      }
    }
  });
  return { width, height, pixels: smooth };
}

/** Averages of the known pixels at the working size. */
async function averageKnown(
  context: FilterContext,
  raster: Raster,
  change: Uint8Array,
  w: number,
  h: number,
): Promise<Level> {
  const sums = new Float32Array(w * h * 5);
  const { width, height, pixels } = raster;
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      const row = Math.min(h - 1, Math.floor((y * h) / height)) * w;
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        if ((change[i] ?? 0) > 0) continue;
        const o = (row + Math.min(w - 1, Math.floor((x * w) / width))) * 5;
        for (let c = 0; c < 4; c++) sums[o + c] = (sums[o + c] ?? 0) + (pixels[i * 4 + c] ?? 0);
        sums[o + 4] = (sums[o + 4] ?? 0) + 1;
      }
    }
  });
  for (let o = 0; o < sums.length; o += 5) {
    const weight = sums[o + 4] ?? 0;
    if (weight === 0) continue;
    for (let c = 0; c < 4; c++) sums[o + c] = (sums[o + c] ?? 0) / weight;
    sums[o + 4] = 1;
  }
  return { width: w, height: h, sums };
}

function downsample(level: Level): Level {
  const [width, height] = [
    Math.max(1, Math.ceil(level.width / 2)),
    Math.max(1, Math.ceil(level.height / 2)),
  ];
  const sums = new Float32Array(width * height * 5);
  for (let y = 0; y < level.height; y++) {
    for (let x = 0; x < level.width; x++) {
      const [from, to] = [(y * level.width + x) * 5, ((y >> 1) * width + (x >> 1)) * 5];
      const weight = level.sums[from + 4] ?? 0;
      for (let c = 0; c < 4; c++)
        sums[to + c] = (sums[to + c] ?? 0) + (level.sums[from + c] ?? 0) * weight;
      sums[to + 4] = (sums[to + 4] ?? 0) + weight;
    }
  }
  for (let o = 0; o < sums.length; o += 5) {
    const weight = sums[o + 4] ?? 0;
    if (weight > 0) for (let c = 0; c < 4; c++) sums[o + c] = (sums[o + c] ?? 0) / weight;
    sums[o + 4] = Math.min(1, weight);
  }
  return { width, height, sums };
}

/** Fills unknown pixels of the finer level by bilinear interpolation of the coarser one. */
function fillUnknown(fine: Level, coarse: Level): void {
  const at = (x: number, y: number, c: number): number =>
    coarse.sums[
      (Math.min(coarse.height - 1, Math.max(0, y)) * coarse.width +
        Math.min(coarse.width - 1, Math.max(0, x))) *
        5 +
        c
    ] ?? 0;
  for (let y = 0; y < fine.height; y++) {
    for (let x = 0; x < fine.width; x++) {
      const o = (y * fine.width + x) * 5;
      const weight = fine.sums[o + 4] ?? 0;
      if (weight >= 1) continue;
      const [u, v] = [x / 2 - 0.25, y / 2 - 0.25];
      const [cx, cy] = [Math.floor(u), Math.floor(v)];
      const [fx, fy] = [u - cx, v - cy];
      for (let c = 0; c < 4; c++) {
        const value =
          at(cx, cy, c) * (1 - fx) * (1 - fy) +
          at(cx + 1, cy, c) * fx * (1 - fy) +
          at(cx, cy + 1, c) * (1 - fx) * fy +
          at(cx + 1, cy + 1, c) * fx * fy;
        fine.sums[o + c] = (fine.sums[o + c] ?? 0) * weight + value * (1 - weight);
      }
      fine.sums[o + 4] = 1;
    }
  }
}
