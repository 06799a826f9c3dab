/** Colour grading: a picture is moved into the light and the colours the words ask for. */
import { type Colour, toRgb } from "../colour.ts";
import type { Palette } from "../palette.ts";
import { clampByte, type Darkroom, inBands, luminance, type Raster } from "../raster.ts";

export interface Grade {
  /** Where shadows, middle tones and lights go. */
  readonly tones: readonly [Colour, Colour, Colour];
  /** 0 as it was .. 1 only the tones */
  readonly strength: number;
  /** 1 as bright as it was. */
  readonly exposure: number;
  readonly contrast: number;
}

export function gradeFor(palette: Palette, named: boolean, strength: number): Grade {
  const { sky, sun, haze } = palette;
  return {
    tones: [sky[0] ?? "#101020", sky[2] ?? haze, sun],
    strength: named ? strength : strength * 0.35,
    exposure: 1 - palette.dim * 0.55,
    contrast: 1.06,
  };
}

export async function graded(room: Darkroom, raster: Raster, grade: Grade): Promise<Raster> {
  const [dark, middle, light] = grade.tones.map(toRgb);
  const ramp = new Uint8Array(256 * 3);
  for (let v = 0; v < 256; v++) {
    const t = v / 255;
    for (let c = 0; c < 3; c++) {
      const [a, b, d] = [dark?.[c] ?? 0, middle?.[c] ?? 128, light?.[c] ?? 255];
      // The ramp keeps each tone's own brightness about where it was.
      const colour = t < 0.5 ? a + (b - a) * t * 2 : b + (d - b) * (t - 0.5) * 2;
      ramp[v * 3 + c] = clampByte(colour * 0.75 + v * 0.25);
    }
  }
  const out = new Uint8Array(raster.pixels.length);
  const { strength, exposure, contrast } = grade;
  await inBands(room, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      const v = Math.round(luminance(raster.pixels, i));
      for (let c = 0; c < 3; c++) {
        const own = 128 + ((raster.pixels[i + c] ?? 0) - 128) * contrast;
        out[i + c] = clampByte((own + ((ramp[v * 3 + c] ?? 0) - own) * strength) * exposure);
      }
      out[i + 3] = raster.pixels[i + 3] ?? 255;
    }
  });
  return { ...raster, pixels: out };
}
