/** The style mosaic: Voronoi cells of jittered grid points, with dark lines between them. */
import {
  blur,
  clampByte,
  type FilterContext,
  forEachBand,
  type Raster,
  unitOf,
} from "../raster/raster.ts";

export async function mosaic(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height, pixels } = raster;
  const unit = Math.max(0.3, unitOf(raster));
  const cell = Math.max(4, cellSize(context.detail) * unit);
  const [columns, rows] = [Math.ceil(width / cell) + 2, Math.ceil(height / cell) + 2];
  const random = context.random.fork("pieces");
  const soft = await blur(context, raster, cell * 0.2);
  const [px, py] = [new Float32Array(columns * rows), new Float32Array(columns * rows)];
  const tint = new Float32Array(columns * rows);
  for (let i = 0; i < px.length; i++) {
    px[i] = ((i % columns) - 0.5 + random.between(-0.42, 0.42)) * cell;
    py[i] = (Math.floor(i / columns) - 0.5 + random.between(-0.42, 0.42)) * cell;
    tint[i] = random.between(0.98, 1.2);
  }
  const out = new Uint8Array(pixels.length);
  const lead = Math.max(0.6, 1.1 * unit);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      const row = Math.floor(y / cell);
      for (let x = 0; x < width; x++) {
        const column = Math.floor(x / cell);
        let best = 0;
        let first = 1e9;
        let second = 1e9;
        for (let r = row; r <= row + 2; r++) {
          for (let c = column; c <= column + 2; c++) {
            const k = r * columns + c;
            const d = (x - (px[k] ?? 0)) ** 2 + (y - (py[k] ?? 0)) ** 2;
            if (d < first) {
              second = first;
              first = d;
              best = k;
            } else if (d < second) second = d;
          }
        }
        const sx = Math.min(width - 1, Math.max(0, Math.round(px[best] ?? 0)));
        const sy = Math.min(height - 1, Math.max(0, Math.round(py[best] ?? 0)));
        const s = (sy * width + sx) * 4;
        const gap = Math.sqrt(second) - Math.sqrt(first);
        const bar = gap < lead ? 0 : Math.min(1, (gap - lead) / (1.4 * unit + 0.3));
        const gloss = (tint[best] ?? 1) * (1 + (Math.sqrt(first) / cell) * -0.16);
        const at = (y * width + x) * 4;
        out[at] = clampByte((soft[s] ?? 0) * gloss * bar + 34 * (1 - bar));
        out[at + 1] = clampByte((soft[s + 1] ?? 0) * gloss * bar + 31 * (1 - bar));
        out[at + 2] = clampByte((soft[s + 2] ?? 0) * gloss * bar + 40 * (1 - bar));
        out[at + 3] = pixels[at + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

/** More detail gives smaller cells. */
function cellSize(detail: number): number {
  if (detail > 1.3) return 13;
  return detail < 0.8 ? 26 : 17;
}
