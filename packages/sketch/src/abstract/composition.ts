/** The type of an abstract composition, and the ground that all of them have. */
import { tone } from "../color.ts";
import type { Layer, Stage } from "../scene/stage.ts";
import { rect } from "../svg.ts";
import type { Scheme } from "./schemes.ts";

export type Composition = (stage: Stage, scheme: Scheme) => Layer[];

export const ground = (stage: Stage, scheme: Scheme): Layer => ({
  name: "ground",
  atmospheric: true,
  svg: rect(
    0,
    0,
    stage.width,
    stage.height,
    stage.defs.linear(
      [
        [0, tone(scheme.ground, 0.03)],
        [1, tone(scheme.ground, -0.04)],
      ],
      [0, 0, 1, 1],
    ),
  ),
});
