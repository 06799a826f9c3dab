/** The stages of an edit that a caller sees: exactly as many as were asked for, none of them the finished picture. */
import { type Darkroom, inBands, type Raster } from "../raster.ts";

/** Makes of a stage what is shown of it: `strength` above 0, and less from one to the next. */
export type Rough = (stage: Raster, strength: number) => Promise<Raster>;

/**
 * How many stages an edit has depends on its words. What is too many is left out, and what is missing is made of the
 * finished picture.
 */
export async function* exactly(
  wanted: number,
  making: AsyncGenerator<Raster, Raster>,
  rough: Rough,
): AsyncGenerator<Raster, Raster> {
  let shown = 0;
  const next = (stage: Raster): Promise<Raster> => rough(stage, 0.42 / ++shown);
  try {
    for (;;) {
      const step = await making.next();
      if (step.done !== true) {
        if (shown < wanted) yield next(step.value);
        continue;
      }
      while (shown < wanted) yield next(step.value);
      return step.value;
    }
  } finally {
    await making.return(undefined as never);
  }
}

const paper = [236, 231, 221] as const;

/** The paper shows through, so that also a stage in which nothing has changed yet, or any more, is not the last one. */
export async function faded(room: Darkroom, raster: Raster, strength: number): Promise<Raster> {
  const pixels = new Uint8Array(raster.pixels);
  await inBands(room, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      for (const [c, white] of paper.entries()) {
        const value = pixels[i + c] ?? 0;
        pixels[i + c] = Math.round(value + (white - value) * strength);
      }
    }
  });
  return { ...raster, pixels };
}
