/** The stage: the frame, palette and randomness of a scene. Every drawing function gets it. */

import type { Random } from "../random.ts";
import type { SvgDefs } from "../svg.ts";
import type { Palette } from "./palette.ts";

export interface Stage {
  /** In scene units: the short side has 1000, or fewer in a very long image. */
  readonly width: number;
  readonly height: number;
  readonly horizon: number;
  readonly defs: SvgDefs;
  readonly palette: Palette;
  readonly random: Random;
  /** Scales the number of shapes, from 0.5 (rough) to 3 (fine). */
  readonly detail: number;
  /** The moment of an animation, 0 ≤ phase < 1. */
  readonly phase: number;
  readonly sun: { readonly x: number; readonly y: number; readonly r: number };
}

/** One layer of the scene. The style papercut shades each layer; partial images draw the far layers only. */
export interface Layer {
  readonly name: string;
  readonly svg: string;
  /** Light, air or weather: the layer casts no shadow. */
  readonly atmospheric?: boolean;
}

export const scaledCount = (stage: Stage, count: number): number =>
  Math.max(1, Math.round(count * stage.detail));
