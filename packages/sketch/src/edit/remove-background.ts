/** Removes a plain background: a flood fill from the border, as far as neighboring pixels are similar. */
import {
  blurPlane,
  type FilterContext,
  forEachBand,
  type Raster,
  unitOf,
} from "../raster/raster.ts";

const maxNeighborDifference = 16;
const maxSeedDifference = 96;

export async function removeBackground(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height, pixels } = raster;
  const removed = new Uint8Array(width * height);
  const queue = new Int32Array(width * height);
  const seeds = new Int32Array(width * height);
  let [head, tail] = [0, 0];
  const remove = (i: number, seed: number): void => {
    removed[i] = 255;
    seeds[i] = seed;
    queue[tail++] = i;
  };
  for (let x = 0; x < width; x++)
    for (const i of [x, (height - 1) * width + x]) if (removed[i] === 0) remove(i, i);
  for (let y = 0; y < height; y++)
    for (const i of [y * width, y * width + width - 1]) if (removed[i] === 0) remove(i, i);
  const difference = (a: number, b: number): number =>
    Math.abs((pixels[a * 4] ?? 0) - (pixels[b * 4] ?? 0)) +
    Math.abs((pixels[a * 4 + 1] ?? 0) - (pixels[b * 4 + 1] ?? 0)) +
    Math.abs((pixels[a * 4 + 2] ?? 0) - (pixels[b * 4 + 2] ?? 0));
  while (head < tail) {
    if ((head & 16_383) === 0) await context.checkpoint();
    const i = queue[head++] ?? 0;
    const seed = seeds[i] ?? 0;
    const x = i % width;
    // Similar to its neighbor, and not too different from the border pixel where the fill started.
    const visit = (j: number): void => {
      if (
        removed[j] === 0 &&
        difference(i, j) < maxNeighborDifference &&
        difference(seed, j) < maxSeedDifference
      )
        remove(j, seed);
    };
    if (x > 0) visit(i - 1);
    if (x < width - 1) visit(i + 1);
    if (i >= width) visit(i - width);
    if (i < width * (height - 1)) visit(i + width);
  }
  const soft = await blurPlane(
    context,
    removed,
    width,
    height,
    Math.max(0.4, 0.9 * unitOf(raster)),
  );
  const out = new Uint8Array(pixels);
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) {
      const keep = removed[i] === 255 ? 0 : 1 - (soft[i] ?? 0) / 255;
      out[i * 4 + 3] = Math.round((pixels[i * 4 + 3] ?? 255) * keep);
    }
  });
  return { width, height, pixels: out };
}
