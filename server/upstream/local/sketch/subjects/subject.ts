/** What a drawable thing is: how tall, where it belongs, and how to draw it in a box 100 units high. */
import { type Colour, fromLch, toLch, tone } from "../colour.ts";
import type { Random } from "../random.ts";
import { sheet as newSheet, type Point, type Sheet } from "../svg.ts";

/** What a subject is drawn with. The ground is y = 0, the top y = -100, the middle x = 0. */
export interface Brush {
  readonly sheet: Sheet;
  readonly random: Random;
  /** 0.5 rough .. 3 fine */
  readonly detail: number;
  /** 0 ≤ phase < 1, one loop of an animation. */
  readonly phase: number;
  /** A colour as it looks in the light of the scene. */
  readonly lit: (colour: Colour) => Colour;
  readonly main: Colour;
  readonly light: Colour;
  readonly dark: Colour;
  readonly deep: Colour;
  /** The second colour of things that have two. */
  readonly accent: Colour;
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
  readonly wide: number;
  /** Natural colours, one is picked; pairs are [main, accent]. */
  readonly colours: readonly [ColourPair, ...ColourPair[]];
  /** Where someone riding it sits. */
  readonly seat?: Point;
  /** Draws `brush.rider` itself, behind its own rim. */
  readonly riderInside?: true;
  /** Must not be mirrored. */
  readonly oneWay?: boolean;
  draw(brush: Brush): string;
}

export type ColourPair = readonly [main: Colour, accent: Colour];

export interface Light {
  readonly lit: (colour: Colour) => Colour;
  readonly night: boolean;
}

export function brushFor(
  colours: ColourPair,
  light: Light,
  random: Random,
  options: {
    readonly sheet?: Sheet;
    readonly detail?: number;
    readonly phase?: number;
    readonly word?: string;
  } = {},
): Brush {
  const sheet = options.sheet ?? newSheet();
  const main = light.lit(colours[0]);
  const brighter = tone(main, 0.09);
  const dark = shadow(main, 0.1);
  return {
    sheet,
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
    accent: light.lit(colours[1]),
    body: sheet.linear(
      [
        [0, brighter],
        [0.5, main],
        [1, dark],
      ],
      [0.2, 0, 0.75, 1],
    ),
  };
}

/** Shadows lean towards red for warm colours and towards blue for cool ones, as paint does. */
export function shadow(colour: Colour, depth: number): Colour {
  const { lightness, chroma, hue } = toLch(colour);
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
