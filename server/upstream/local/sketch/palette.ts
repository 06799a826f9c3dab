/** The light of a scene: sky, haze, sun and how it falls on things, by time of day and weather. */
import { along, type Colour, mix, multiply, toLch, tone, withLightness } from "./colour.ts";
import type { Random } from "./random.ts";

export const times = ["dawn", "day", "golden", "sunset", "dusk", "night"] as const;
export type TimeOfDay = (typeof times)[number];
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

type Row = readonly [
  sky: readonly Colour[],
  sun: Colour,
  glow: Colour,
  cloudLit: Colour,
  cloudShade: Colour,
];
interface Hour {
  readonly light: Colour;
  readonly rows: readonly [Row, ...Row[]];
  /** Without one, the upper sky fills the shadows. */
  readonly ambient?: Colour;
  /** How far distance takes the colour of the middle sky: a low sun leaves land in its shade. */
  readonly backlit: number;
  readonly tint: number;
  readonly dim: number;
  readonly sunHeight: readonly [number, number];
}

const hours: Record<TimeOfDay, Hour> = {
  dawn: {
    light: "#ffd6c8",
    rows: [
      [
        ["#3d4a7c", "#7d78ad", "#d59bb4", "#f8c4a8", "#fde8c4"],
        "#fff3d6",
        "#ffd9a0",
        "#ffe4d2",
        "#c08fae",
      ],
      [
        ["#49679a", "#8aa0c8", "#dcb9c8", "#f9d2b8", "#fff0d6"],
        "#fff7e2",
        "#ffe0b0",
        "#fff0e2",
        "#b79bb8",
      ],
      [
        ["#2f5573", "#6f9aa8", "#bcc9ba", "#f3d7b0", "#fcebc8"],
        "#fff6dc",
        "#ffe6b4",
        "#fff1dc",
        "#a8a8b0",
      ],
    ],
    backlit: 0.34,
    tint: 0.1,
    dim: 0.12,
    sunHeight: [0.06, 0.22],
  },
  day: {
    light: "#ffffff",
    rows: [
      [
        ["#2d7fc4", "#5da8de", "#9bd0ec", "#d4ecf3", "#f1f8f2"],
        "#fffbe6",
        "#fff6cf",
        "#ffffff",
        "#b9d3e6",
      ],
      [
        ["#3f8fc9", "#77bce0", "#b4dde9", "#e4f2e8", "#f8f4dd"],
        "#fffbe6",
        "#fff3c8",
        "#ffffff",
        "#c2d6df",
      ],
      [
        ["#2a6fb0", "#4f9bd2", "#8cc6e6", "#c4e4ee", "#e6f3ee"],
        "#fffdf0",
        "#fffbe0",
        "#ffffff",
        "#a8c6de",
      ],
    ],
    ambient: "#fff6e0",
    backlit: 0.2,
    tint: 0.03,
    dim: 0,
    sunHeight: [0.58, 0.82],
  },
  golden: {
    light: "#ffdb9c",
    rows: [
      [
        ["#5b8fb0", "#97b6b8", "#dccf9f", "#f7cf86", "#ffe3a6"],
        "#fff6d8",
        "#ffdf94",
        "#fff1d0",
        "#d0a880",
      ],
      [
        ["#4f7fa8", "#9cb4bf", "#efcfa8", "#f8bd82", "#ffdc9c"],
        "#fff4d0",
        "#ffd586",
        "#ffeccb",
        "#c99a82",
      ],
    ],
    ambient: "#f2a860",
    backlit: 0.22,
    tint: 0.06,
    dim: 0.08,
    sunHeight: [0.16, 0.34],
  },
  sunset: {
    light: "#ffa98c",
    rows: [
      [
        ["#33235f", "#7a2f74", "#cf4a68", "#f7855a", "#ffc778"],
        "#fff0c0",
        "#ffb45e",
        "#ffb39a",
        "#8a3c72",
      ],
      [
        ["#1f3263", "#5a4a86", "#b9638c", "#f29070", "#ffd29a"],
        "#fff3cf",
        "#ffbe7a",
        "#ffc2a8",
        "#7a5088",
      ],
      [
        ["#412a66", "#93406f", "#e0606a", "#fb9c58", "#ffd882"],
        "#fff2c4",
        "#ffc062",
        "#ffc4a0",
        "#9a4a70",
      ],
      [
        ["#1f3f78", "#5a6aa8", "#d07a98", "#fb9a72", "#ffd596"],
        "#fff4d2",
        "#ffc774",
        "#ffcdb8",
        "#7a5c9a",
      ],
    ],
    backlit: 0.42,
    tint: 0.12,
    dim: 0.26,
    sunHeight: [0.0, 0.13],
  },
  dusk: {
    light: "#9a8ad0",
    rows: [
      [
        ["#171d47", "#33356f", "#6a4f8e", "#c27a96", "#f3b79a"],
        "#ffe6c0",
        "#f7b08c",
        "#c28aa8",
        "#4a3f78",
      ],
      [
        ["#12284a", "#2b4a74", "#5f7396", "#b08ea0", "#eebc9c"],
        "#ffe9c8",
        "#f0b394",
        "#b499b0",
        "#3f4c78",
      ],
    ],
    backlit: 0.45,
    tint: 0.16,
    dim: 0.42,
    sunHeight: [-0.03, 0.03],
  },
  night: {
    light: "#7689d2",
    rows: [
      [
        ["#070b24", "#0d1840", "#182c60", "#2d4a80", "#4c6c9c"],
        "#f7f2dc",
        "#a9bfe8",
        "#5a6f9f",
        "#1f2d58",
      ],
      [
        ["#0b0a2a", "#1a1650", "#322a72", "#54478e", "#7d6ca6"],
        "#fbf3df",
        "#c3b4ea",
        "#6e62a2",
        "#281f58",
      ],
      [
        ["#04161f", "#082b3a", "#0f465a", "#1d6676", "#43898e"],
        "#f4f7e6",
        "#a4dcd8",
        "#4c8490",
        "#123a4a",
      ],
    ],
    ambient: "#2c3f7c",
    backlit: 0.3,
    tint: 0.2,
    dim: 0.6,
    sunHeight: [0.5, 0.8],
  },
};

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
