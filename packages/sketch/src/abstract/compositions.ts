/** All abstract compositions. The hash of the prompt picks one. */
import type { Composition } from "./composition.ts";
import { contours, orbits, ribbons } from "./curves.ts";
import { cutouts, facets, tiles } from "./shapes.ts";

export const compositions: readonly [Composition, ...Composition[]] = [
  ribbons,
  tiles,
  orbits,
  facets,
  cutouts,
  contours,
];
