/**
 * Color quantization: a median-cut color table from a histogram of 5 bits per channel, and a lookup table for the
 * nearest color.
 */
import { clampByte, type FilterContext, forEachBand, type Raster } from "./raster.ts";

export interface ColorTable {
  /** r, g, b, r, g, b … */
  readonly colors: Uint8Array;
  /** For each color of 5 bits per channel, the index of the nearest entry. */
  readonly nearest: Uint8Array;
}

const cellOf = (r: number, g: number, b: number): number =>
  ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);

interface Box {
  readonly cells: Uint16Array | number[];
  readonly weight: number;
  readonly axis: number;
  readonly spread: number;
}

export function medianCut(rasters: readonly Uint8Array[], count: number): ColorTable {
  const histogram = new Uint32Array(32_768);
  const total = rasters.reduce((sum, pixels) => sum + pixels.length / 4, 0);
  const stride = Math.max(1, Math.floor(total / 400_000)) * 4;
  for (const pixels of rasters) {
    for (let i = 0; i < pixels.length; i += stride) {
      if ((pixels[i + 3] ?? 0) < 128) continue;
      const cell = cellOf(pixels[i] ?? 0, pixels[i + 1] ?? 0, pixels[i + 2] ?? 0);
      histogram[cell] = (histogram[cell] ?? 0) + 1;
    }
  }
  const used: number[] = [];
  for (let cell = 0; cell < histogram.length; cell++)
    if ((histogram[cell] ?? 0) > 0) used.push(cell);
  if (used.length === 0) used.push(0);
  const boxes: Box[] = [boxOf(used, histogram)];
  while (boxes.length < count) {
    let chosen = -1;
    let most = 0;
    boxes.forEach((box, i) => {
      // Weighs population against spread: skies get enough steps, and small bright areas keep their color.
      const priority = box.spread * Math.sqrt(box.weight);
      if (box.cells.length > 1 && priority > most) [chosen, most] = [i, priority];
    });
    const box = boxes[chosen];
    if (box === undefined) break;
    const shift = [10, 5, 0][box.axis] ?? 0;
    const sorted = Array.from(box.cells).sort((a, b) => ((a >> shift) & 31) - ((b >> shift) & 31));
    let half = 0;
    let cut = 0;
    while (cut < sorted.length - 1 && half < box.weight / 2)
      half += histogram[sorted[cut++] ?? 0] ?? 0;
    boxes.splice(
      chosen,
      1,
      boxOf(sorted.slice(0, Math.max(1, cut)), histogram),
      boxOf(sorted.slice(Math.max(1, cut)), histogram),
    );
  }
  const colors = new Uint8Array(boxes.length * 3);
  boxes.forEach((box, n) => {
    let [r, g, b, weight] = [0, 0, 0, 0];
    for (const cell of box.cells) {
      const w = histogram[cell] || 1;
      r += (((cell >> 10) & 31) * 8 + 4) * w;
      g += (((cell >> 5) & 31) * 8 + 4) * w;
      b += ((cell & 31) * 8 + 4) * w;
      weight += w;
    }
    colors.set([r / weight, g / weight, b / weight], n * 3);
  });
  return { colors, nearest: nearestTable(colors) };
}

function boxOf(cells: number[], histogram: Uint32Array): Box {
  const low = [31, 31, 31];
  const high = [0, 0, 0];
  let weight = 0;
  for (const cell of cells) {
    weight += histogram[cell] ?? 0;
    [(cell >> 10) & 31, (cell >> 5) & 31, cell & 31].forEach((v, axis) => {
      low[axis] = Math.min(low[axis] ?? 31, v);
      high[axis] = Math.max(high[axis] ?? 0, v);
    });
  }
  // The eye is most sensitive to green and least to blue.
  const spans = [0, 1, 2].map(
    (axis) => ((high[axis] ?? 0) - (low[axis] ?? 0)) * ([0.9, 1.2, 0.7][axis] ?? 1),
  );
  const spread = Math.max(...spans);
  return { cells, weight, axis: spans.indexOf(spread), spread };
}

function nearestTable(colors: Uint8Array): Uint8Array {
  const table = new Uint8Array(32_768);
  for (let cell = 0; cell < table.length; cell++) {
    const [r, g, b] = [
      ((cell >> 10) & 31) * 8 + 4,
      ((cell >> 5) & 31) * 8 + 4,
      (cell & 31) * 8 + 4,
    ];
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (let n = 0; n < colors.length; n += 3) {
      const [dr, dg, db] = [
        r - (colors[n] ?? 0),
        g - (colors[n + 1] ?? 0),
        b - (colors[n + 2] ?? 0),
      ];
      const distance = dr * dr * 0.9 + dg * dg * 1.4 + db * db * 0.6;
      if (distance < least) [best, least] = [n / 3, distance];
    }
    table[cell] = best;
  }
  return table;
}

const bayer = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5].map(
  (v) => (v + 0.5) / 16 - 0.5,
);

/** The color table index of every pixel, with ordered (Bayer) dithering of the given strength. */
export async function indexPixels(
  context: FilterContext,
  raster: Raster,
  colorTable: ColorTable,
  dither: number,
): Promise<Uint8Array> {
  const { width, height, pixels } = raster;
  const out = new Uint8Array(width * height);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const nudge = (bayer[((y & 3) << 2) | (x & 3)] ?? 0) * dither;
        out[i] =
          colorTable.nearest[
            cellOf(
              clampByte((pixels[i * 4] ?? 0) + nudge),
              clampByte((pixels[i * 4 + 1] ?? 0) + nudge),
              clampByte((pixels[i * 4 + 2] ?? 0) + nudge),
            )
          ] ?? 0;
      }
    }
  });
  return out;
}

export async function posterize(
  context: FilterContext,
  raster: Raster,
  count: number,
  dither: number,
): Promise<Raster> {
  const colorTable = medianCut([raster.pixels], count);
  const index = await indexPixels(context, raster, colorTable, dither);
  const out = new Uint8Array(raster.pixels.length);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width; i < to * raster.width; i++) {
      const n = (index[i] ?? 0) * 3;
      out[i * 4] = colorTable.colors[n] ?? 0;
      out[i * 4 + 1] = colorTable.colors[n + 1] ?? 0;
      out[i * 4 + 2] = colorTable.colors[n + 2] ?? 0;
      out[i * 4 + 3] = raster.pixels[i * 4 + 3] ?? 255;
    }
  });
  return { ...raster, pixels: out };
}
