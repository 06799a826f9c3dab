/** Where a scene is drawn: its frame, its light and its randomness, handed to every painter. */

import type { Random } from "../random.ts";
import type { SvgDefs } from "../svg.ts";
import type { Palette } from "./palette.ts";

export interface Stage {
  /** In units of which the short side has 1000, in ribbons fewer. */
  readonly width: number;
  readonly height: number;
  readonly horizon: number;
  readonly defs: SvgDefs;
  readonly palette: Palette;
  readonly random: Random;
  /** 0.5 rough .. 3 fine: how much of everything there is. */
  readonly detail: number;
  /** 0 ≤ phase < 1, one loop of an animation. */
  readonly phase: number;
  readonly sun: { readonly x: number; readonly y: number; readonly r: number };
}

/** One sheet of the picture, from far to near. Paper cuts shade each, streams send some early. */
export interface Layer {
  readonly name: string;
  readonly svg: string;
  /** Light and air rather than a body: casts no shadow. */
  readonly atmospheric?: boolean;
}

export const scaledCount = (stage: Stage, count: number): number =>
  Math.max(1, Math.round(count * stage.detail));
