/** What a drawable thing is: how tall, where it belongs, and how to draw it in a box 100 units high. */
import { type Color, fromLch, toLch, tone } from "../color.ts";
import type { Random } from "../random.ts";
import { createDefs, type Point, type SvgDefs } from "../svg.ts";

/** What a subject is drawn with. The ground is y = 0, the top y = -100, the middle x = 0. */
export interface Brush {
  readonly defs: SvgDefs;
  readonly random: Random;
  /** 0.5 rough .. 3 fine */
  readonly detail: number;
  /** 0 ≤ phase < 1, one loop of an animation. */
  readonly phase: number;
  /** A color as it looks in the light of the scene. */
  readonly lit: (color: Color) => Color;
  readonly main: Color;
  readonly light: Color;
  readonly dark: Color;
  readonly deep: Color;
  /** The second color of things that have two. */
  readonly accent: Color;
  /** Lit from the upper left. */
  readonly body: string;
  readonly night: boolean;
  /** The word of the lexicon it was called by, such as "girl". */
  readonly word: string;
  /** Who sits inside, for subjects that show only the upper part of them. */
  readonly rider: string;
}

export type Stands = "ground" | "air" | "water" | "undersea" | "table";

export interface Subject {
  readonly stands: Stands;
  /** Height when it is the hero of a picture whose short side is 1000. */
  readonly tall: number;
  /** Width divided by height. */
  readonly aspect: number;
  /** Natural colors, one is picked; pairs are [main, accent]. */
  readonly colors: readonly [ColorPair, ...ColorPair[]];
  /** Where someone riding it sits. */
  readonly seat?: Point;
  /** Draws `brush.rider` itself, behind its own rim. */
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

/** Shadows lean towards red for warm colors and towards blue for cool ones, as paint does. */
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

/** A smooth swing that comes back: -1..1, `offset` in turns. */
export const sway = (phase: number, offset = 0): number => Math.sin((phase + offset) * Math.PI * 2);
