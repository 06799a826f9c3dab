/** All compositions of pure form; the hash of the words picks one. */
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
