/** Color grading: moves an image towards the light and the colors of the brief. */
import { schemeFor } from "../abstract/schemes.ts";
import { type Color, toRgb, withLightness } from "../color.ts";
import type { Brief } from "../prompt/brief.ts";
import type { Random } from "../random.ts";
import {
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  type Raster,
} from "../raster/raster.ts";
import type { Palette } from "../scene/palette.ts";

export interface Grade {
  /** All pixels are multiplied by this color. */
  readonly light: Color;
  /** The target colors of shadows, midtones and highlights. */
  readonly tones: readonly [Color, Color, Color];
  /** From 0 (unchanged) to 1 (only the tones). */
  readonly strength: number;
  readonly contrast: number;
}

/** Undefined if the brief names neither light nor color, unless several images of a request must differ. */
export function gradeFor(
  brief: Brief,
  palette: Palette,
  faithful: boolean,
  random: Random,
  index: number,
): Grade | undefined {
  const color = brief.overallColors[0]?.hex ?? brief.skyColor?.hex;
  if (color !== undefined) {
    const second = brief.overallColors[1]?.hex ?? color;
    return {
      light: "#ffffff",
      tones: [withLightness(color, 0.2), withLightness(color, 0.64), withLightness(second, 0.95)],
      strength: faithful ? 0.55 : 0.82,
      contrast: 1.04,
    };
  }
  if (brief.time !== undefined || brief.weather.length > 0) {
    const [dark, , middle] = palette.sky;
    return {
      light: palette.light,
      tones: [dark ?? palette.ambient, middle ?? palette.haze, palette.sun],
      strength: (faithful ? 0.22 : 0.42) + palette.dim * 0.16,
      contrast: 1.08,
    };
  }
  if (brief.styles.length > 0 || brief.subjects.length > 0) {
    return index === 0 ? undefined : accentGrade(random, 0.08);
  }
  return accentGrade(random, faithful ? 0.2 : 0.4);
}

/** A slight grade in the colors of a random scheme, for prompts that name no light. */
function accentGrade(random: Random, strength: number): Grade {
  const [first, second] = schemeFor(random, []).accents;
  return {
    light: "#ffffff",
    tones: [withLightness(first, 0.2), withLightness(second ?? first, 0.6), "#fff8ea"],
    strength,
    contrast: 1.1,
  };
}

export async function applyGrade(
  context: FilterContext,
  raster: Raster,
  grade: Grade,
): Promise<Raster> {
  const [dark, middle, bright] = grade.tones.map(toRgb);
  const through = toRgb(grade.light).map((value) => value / 255);
  const ramp = new Uint8Array(256 * 3);
  for (let v = 0; v < 256; v++) {
    const t = v / 255;
    for (let c = 0; c < 3; c++) {
      const [a, b, d] = [dark?.[c] ?? 0, middle?.[c] ?? 128, bright?.[c] ?? 255];
      const color = t < 0.5 ? a + (b - a) * t * 2 : b + (d - b) * (t - 0.5) * 2;
      // Mixing in the original value keeps the brightness of each tone.
      ramp[v * 3 + c] = clampByte(color * 0.75 + v * 0.25);
    }
  }
  const out = new Uint8Array(raster.pixels.length);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      const seen =
        luminance(raster.pixels, i) *
        ((through[0] ?? 1) * 0.3 + (through[1] ?? 1) * 0.59 + (through[2] ?? 1) * 0.11);
      const v = Math.round(clampByte(seen));
      for (let c = 0; c < 3; c++) {
        const own =
          (128 + ((raster.pixels[i + c] ?? 0) - 128) * grade.contrast) * (through[c] ?? 1);
        out[i + c] = clampByte(own + ((ramp[v * 3 + c] ?? 0) - own) * grade.strength);
      }
      out[i + 3] = raster.pixels[i + 3] ?? 255;
    }
  });
  return { ...raster, pixels: out };
}
