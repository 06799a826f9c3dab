/** The palette of a scene: the colors of sky, haze, sun and light, from the time of day and the weather. */
import { type Color, gradientColor, mix, multiply, toLch, tone, withLightness } from "../color.ts";
import type { Random } from "../random.ts";
import { type TimeOfDay, timesOfDay } from "./times-of-day.ts";

export const weathers = ["cloudy", "rain", "snow", "fog", "storm", "wind"] as const;
export type Weather = (typeof weathers)[number];

export interface Palette {
  readonly time: TimeOfDay;
  /** Gradient stops from the top of the sky to the horizon. */
  readonly sky: readonly Color[];
  /** The color that distant land fades to. */
  readonly haze: Color;
  readonly sun: Color;
  readonly glow: Color;
  readonly cloudLit: Color;
  readonly cloudShade: Color;
  /** The color of the light. Surface colors are multiplied by it. */
  readonly light: Color;
  readonly ambient: Color;
  /** The share of the ambient color in surface colors, 0..1. */
  readonly tint: number;
  /** Darkness, from 0 (day) to 1 (night). */
  readonly dim: number;
  readonly night: boolean;
  /** Height of the sun or moon above the horizon, 0..1. */
  readonly sunHeight: number;
}

export interface PaletteOptions {
  readonly time: TimeOfDay;
  readonly weather: readonly Weather[];
  /** The color of the sky, if the prompt names one. */
  readonly sky?: Color;
  /** Colors that tint the whole image. */
  readonly overallColors: readonly Color[];
}

export function paletteFor(options: PaletteOptions, random: Random): Palette {
  const lighting = timesOfDay[options.time];
  const [sky, sun, glow, cloudLit, cloudShade] = random.pick(lighting.variants);
  let palette: Palette = {
    time: options.time,
    sky,
    haze: mix(sky.at(-1) ?? sun, sky[2] ?? sun, lighting.backlit),
    sun,
    glow,
    cloudLit,
    cloudShade,
    light: lighting.light,
    ambient: lighting.ambient ?? mix(sky[1] ?? sun, sky[2] ?? sun, 0.3),
    tint: lighting.tint,
    dim: lighting.dim,
    night: options.time === "night",
    sunHeight: random.between(...lighting.sunHeight),
  };
  const skyColor = options.sky ?? options.overallColors[0];
  if (skyColor !== undefined)
    palette = tintPalette(
      palette,
      skyColor,
      options.sky === undefined ? 0.5 : 0.82,
      options.overallColors[1],
    );
  for (const weather of options.weather) palette = applyWeather(palette, weather);
  return palette;
}

/** Tints the palette with a named color, darker at the top and paler at the horizon. */
function tintPalette(palette: Palette, color: Color, strength: number, second?: Color): Palette {
  const last = palette.sky.length - 1;
  const named = toLch(color).lightness;
  const sky = palette.sky.map((old, i) => {
    const goal = toLch(old).lightness * 0.55 + named * 0.45 + (i / last - 0.5) * 0.14;
    const target = second === undefined ? color : gradientColor([color, second], i / last);
    return mix(old, withLightness(target, goal), strength);
  });
  const haze = sky[last] ?? palette.haze;
  return {
    ...palette,
    sky,
    haze,
    glow: mix(palette.glow, tone(color, 0.2), 0.4 * strength),
    cloudShade: mix(palette.cloudShade, color, 0.5 * strength),
    ambient: mix(palette.ambient, color, 0.6),
    tint: Math.max(palette.tint, 0.12),
  };
}

/** Applies weather: it grays the sky and the light. */
function applyWeather(palette: Palette, weather: Weather): Palette {
  const grays: Record<Weather, readonly [gray: Color, amount: number, dim: number]> = {
    cloudy: ["#aebac4", 0.3, 0.04],
    wind: ["#b9c6cc", 0.12, 0],
    rain: ["#7d8f9e", 0.55, 0.12],
    snow: ["#c9d6e2", 0.5, 0],
    fog: ["#d3dadc", 0.6, 0],
    storm: ["#4d5670", 0.66, 0.26],
  };
  const [gray, amount, dim] = grays[weather];
  const shade = (color: Color): Color => {
    // Keeps the lightness of the time of day, so that a rainy night is darker than a rainy noon.
    const goal =
      toLch(color).lightness * 0.55 + toLch(gray).lightness * 0.45 * (1 - palette.dim * 0.7);
    return mix(color, withLightness(gray, goal), amount);
  };
  return {
    ...palette,
    sky: palette.sky.map(shade),
    haze: shade(palette.haze),
    sun: mix(palette.sun, gray, amount * 0.3),
    glow: shade(palette.glow),
    cloudLit: shade(palette.cloudLit),
    cloudShade: shade(palette.cloudShade),
    light: mix(palette.light, multiply(palette.light, gray), amount * 0.5),
    ambient: mix(palette.ambient, gray, amount * 0.7),
    tint: Math.min(0.4, palette.tint + amount * 0.16),
    dim: Math.min(0.75, palette.dim + dim * (1 - palette.dim)),
  };
}

/**
 * A surface color in this light. Land takes the full light (`share` 1); subjects take less, so that they stay
 * readable.
 */
export function lit(palette: Palette, color: Color, share = 1): Color {
  const shone = mix(color, multiply(color, palette.light), share);
  const shaded = tone(shone, -palette.dim * 0.12 * share);
  return mix(shaded, withLightness(palette.ambient, toLch(shaded).lightness), palette.tint * share);
}

/** Aerial perspective: the color of land at a distance. `nearness` is 1 at the viewer and 0 at the horizon. */
export const atDistance = (palette: Palette, color: Color, nearness: number): Color =>
  mix(palette.haze, lit(palette, color), Math.min(1, Math.max(0, nearness)) ** 0.8);
