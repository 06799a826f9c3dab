/** The light of a scene: sky, haze, sun and how it falls on things, by time of day and weather. */
import { along, type Colour, mix, multiply, toLch, tone, withLightness } from "./colour.ts";
import { hours, type TimeOfDay } from "./hours.ts";
import type { Random } from "./random.ts";

export const weathers = ["cloudy", "rain", "snow", "fog", "storm", "wind"] as const;
export type Weather = (typeof weathers)[number];

export interface Palette {
  readonly time: TimeOfDay;
  /** From the top of the sky to the horizon. */
  readonly sky: readonly Colour[];
  /** What distance fades to. */
  readonly haze: Colour;
  readonly sun: Colour;
  readonly glow: Colour;
  readonly cloudLit: Colour;
  readonly cloudShade: Colour;
  /** The colour of the light itself: things are seen through it. */
  readonly light: Colour;
  readonly ambient: Colour;
  /** How much of the ambient colour falls on things: 0..1 */
  readonly tint: number;
  /** How dark it is: 0 day .. 1 night */
  readonly dim: number;
  readonly night: boolean;
  /** Height of sun or moon over the horizon: 0..1 */
  readonly sunHeight: number;
}

export interface LightWish {
  readonly time: TimeOfDay;
  readonly weather: readonly Weather[];
  /** The sky's own colour, when the prompt names one. */
  readonly sky?: Colour;
  /** Colours the whole picture should lean to. */
  readonly lean: readonly Colour[];
}

export function paletteFor(wish: LightWish, random: Random): Palette {
  const hour = hours[wish.time];
  const [sky, sun, glow, cloudLit, cloudShade] = random.pick(hour.rows);
  let palette: Palette = {
    time: wish.time,
    sky,
    haze: mix(sky.at(-1) ?? sun, sky[2] ?? sun, hour.backlit),
    sun,
    glow,
    cloudLit,
    cloudShade,
    light: hour.light,
    ambient: hour.ambient ?? mix(sky[1] ?? sun, sky[2] ?? sun, 0.3),
    tint: hour.tint,
    dim: hour.dim,
    night: wish.time === "night",
    sunHeight: random.between(...hour.sunHeight),
  };
  const skyColour = wish.sky ?? wish.lean[0];
  if (skyColour !== undefined)
    palette = leaning(palette, skyColour, wish.sky === undefined ? 0.5 : 0.82, wish.lean[1]);
  for (const weather of wish.weather) palette = weathered(palette, weather);
  return palette;
}

/** The same light, pulled towards a named colour: darker above, paler at the horizon. */
function leaning(palette: Palette, colour: Colour, strength: number, second?: Colour): Palette {
  const last = palette.sky.length - 1;
  const named = toLch(colour).lightness;
  const sky = palette.sky.map((old, i) => {
    const goal = toLch(old).lightness * 0.55 + named * 0.45 + (i / last - 0.5) * 0.14;
    const target = second === undefined ? colour : along([colour, second], i / last);
    return mix(old, withLightness(target, goal), strength);
  });
  const haze = sky[last] ?? palette.haze;
  return {
    ...palette,
    sky,
    haze,
    glow: mix(palette.glow, tone(colour, 0.2), 0.4 * strength),
    cloudShade: mix(palette.cloudShade, colour, 0.5 * strength),
    ambient: mix(palette.ambient, colour, 0.6),
    tint: Math.max(palette.tint, 0.12),
  };
}

/** Weather greys the sky and thickens the air. */
function weathered(palette: Palette, weather: Weather): Palette {
  const greys: Record<Weather, readonly [grey: Colour, amount: number, dim: number]> = {
    cloudy: ["#aebac4", 0.3, 0.04],
    wind: ["#b9c6cc", 0.12, 0],
    rain: ["#7d8f9e", 0.55, 0.12],
    snow: ["#c9d6e2", 0.5, 0],
    fog: ["#d3dadc", 0.6, 0],
    storm: ["#4d5670", 0.66, 0.26],
  };
  const [grey, amount, dim] = greys[weather];
  const shade = (colour: Colour): Colour => {
    // Keep the hour's own lightness: a night of rain is darker than a noon of rain.
    const goal =
      toLch(colour).lightness * 0.55 + toLch(grey).lightness * 0.45 * (1 - palette.dim * 0.7);
    return mix(colour, withLightness(grey, goal), amount);
  };
  return {
    ...palette,
    sky: palette.sky.map(shade),
    haze: shade(palette.haze),
    sun: mix(palette.sun, grey, amount * 0.3),
    glow: shade(palette.glow),
    cloudLit: shade(palette.cloudLit),
    cloudShade: shade(palette.cloudShade),
    light: mix(palette.light, multiply(palette.light, grey), amount * 0.5),
    ambient: mix(palette.ambient, grey, amount * 0.7),
    tint: Math.min(0.4, palette.tint + amount * 0.16),
    dim: Math.min(0.75, palette.dim + dim * (1 - palette.dim)),
  };
}

/** A thing's colour in this light. Land takes all of it; subjects take less, so that they stay readable. */
export function lit(palette: Palette, colour: Colour, share = 1): Colour {
  const shone = mix(colour, multiply(colour, palette.light), share);
  const shaded = tone(shone, -palette.dim * 0.12 * share);
  return mix(shaded, withLightness(palette.ambient, toLch(shaded).lightness), palette.tint * share);
}

/** Land at a distance: 1 is here, 0 is where it melts into the sky. */
export const atDistance = (palette: Palette, colour: Colour, nearness: number): Colour =>
  mix(palette.haze, lit(palette, colour), Math.min(1, Math.max(0, nearness)) ** 0.8);
