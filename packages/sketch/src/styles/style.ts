/** Every style as a filter on pixels. Generated and uploaded images use the same filters. */

import type { Style } from "../prompt/scene-words.ts";
import type { FilterContext, Raster } from "../raster/raster.ts";
import { ink, pencil } from "./lines.ts";
import { mosaic } from "./mosaic.ts";
import { neon } from "./neon.ts";
import { oil } from "./oil.ts";
import { papercut } from "./papercut.ts";
import { pixel } from "./pixel.ts";
import { comic, flat, pointillist, woodblock } from "./prints.ts";
import { mono, pastel, sepia } from "./tones.ts";
import { watercolor } from "./watercolor.ts";

export const styleFilters: Record<
  Style,
  (context: FilterContext, raster: Raster) => Promise<Raster>
> = {
  watercolor,
  pencil,
  ink,
  pixel,
  flat,
  oil,
  neon,
  papercut,
  mosaic,
  comic,
  woodblock,
  mono,
  sepia,
  pastel,
  pointillist,
};
