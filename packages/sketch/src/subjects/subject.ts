/** The type of a subject: its size, where it stands, and a function that draws it 100 units high. */
import { type Color, fromLch, toLch, tone } from "../color.ts";
import type { Random } from "../random.ts";
import { createDefs, type Point, type SvgDefs } from "../svg.ts";

/** The argument of a subject's drawing function. The ground is y = 0, the top is y = -100, the middle is x = 0. */
export interface Brush {
  readonly defs: SvgDefs;
  readonly random: Random;
  /** From 0.5 (rough) to 3 (fine). */
  readonly detail: number;
  /** The moment of an animation, 0 ≤ phase < 1. */
  readonly phase: number;
  /** A surface color in the light of the scene. */
  readonly lit: (color: Color) => Color;
  readonly main: Color;
  readonly light: Color;
  readonly dark: Color;
  readonly deep: Color;
  /** The second color. */
  readonly accent: Color;
  /** A gradient fill that is lit from the upper left. */
  readonly body: string;
  readonly night: boolean;
  /** The word of the lexicon that the prompt used, such as "girl". */
  readonly word: string;
  /** SVG of the rider, for subjects that hide the lower part of it. */
  readonly rider: string;
}

export type Stands = "ground" | "air" | "water" | "undersea" | "table";

export interface Subject {
  readonly stands: Stands;
  /** The height as the only subject of a scene whose short side is 1000. */
  readonly tall: number;
  /** Width divided by height. */
  readonly aspect: number;
  /** Natural colors as pairs of main color and accent. One pair is picked at random. */
  readonly colors: readonly [ColorPair, ...ColorPair[]];
  /** The position of a rider. */
  readonly seat?: Point;
  /** The drawing function draws `brush.rider` itself, behind its own front. */
  readonly riderInside?: true;
  /** Must not be mirrored. */
  readonly oneWay?: boolean;
  draw(brush: Brush): string;
}

export type ColorPair = readonly [main: Color, accent: Color];

export interface Light {
  readonly lit: (color: Color) => Color;
  readonly night: boolean;
}

export function brushFor(
  colors: ColorPair,
  light: Light,
  random: Random,
  options: {
    readonly defs?: SvgDefs;
    readonly detail?: number;
    readonly phase?: number;
    readonly word?: string;
  } = {},
): Brush {
  const defs = options.defs ?? createDefs();
  const main = light.lit(colors[0]);
  const brighter = tone(main, 0.09);
  const dark = shadow(main, 0.1);
  return {
    defs,
    random,
    detail: options.detail ?? 1,
    phase: options.phase ?? 0,
    lit: light.lit,
    night: light.night,
    word: options.word ?? "",
    rider: "",
    main,
    light: brighter,
    dark,
    deep: shadow(main, 0.19),
    accent: light.lit(colors[1]),
    body: defs.linear(
      [
        [0, brighter],
        [0.5, main],
        [1, dark],
      ],
      [0.2, 0, 0.75, 1],
    ),
  };
}

/** The hue of shadows shifts towards red for warm colors and towards blue for cool ones, as in painting. */
export function shadow(color: Color, depth: number): Color {
  const { lightness, chroma, hue } = toLch(color);
  const goal = hue > 20 && hue < 130 ? 25 : 285;
  const turn = ((goal - hue + 540) % 360) - 180;
  return fromLch({
    lightness: lightness - depth * (0.7 + lightness * 0.5),
    chroma: chroma * (1 - depth * 0.8) + 0.012,
    hue: hue + Math.max(-100 * depth, Math.min(100 * depth, turn)),
  });
}

/** A sine wave over one loop of an animation, -1..1. `offset` is in turns. */
export const sway = (phase: number, offset = 0): number => Math.sin((phase + offset) * Math.PI * 2);
