/**
 * The partial images of an edit: exactly as many as the client requested, and none of them equal to the finished image.
 */
import { type FilterContext, forEachBand, type Raster } from "../raster/raster.ts";

/** Turns a stage of the edit into a partial image. `strength` is above 0 and decreases from one to the next. */
export type PartialImageFilter = (stage: Raster, strength: number) => Promise<Raster>;

/**
 * The number of stages of an edit depends on its prompt. Surplus stages are left out; missing partial images are made
 * from the finished image.
 */
export async function* exactPartialImages(
  wanted: number,
  rendering: AsyncGenerator<Raster, Raster>,
  filter: PartialImageFilter,
): AsyncGenerator<Raster, Raster> {
  let shown = 0;
  const next = (stage: Raster): Promise<Raster> => {
    shown += 1;
    return filter(stage, 0.42 / shown);
  };
  try {
    for (;;) {
      const step = await rendering.next();
      if (step.done !== true) {
        if (shown < wanted) yield next(step.value);
        continue;
      }
      while (shown < wanted) yield next(step.value);
      return step.value;
    }
  } finally {
    await rendering.return(undefined as never);
  }
}

const paper = [236, 231, 221] as const;

/** Fades towards the color of paper. A stage may equal the finished image; its partial image must not. */
export async function fade(
  context: FilterContext,
  raster: Raster,
  strength: number,
): Promise<Raster> {
  const pixels = new Uint8Array(raster.pixels);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      for (const [c, white] of paper.entries()) {
        const value = pixels[i + c] ?? 0;
        pixels[i + c] = Math.round(value + (white - value) * strength);
      }
    }
  });
  return { ...raster, pixels };
}
