/** Every style as a filter over finished pixels; the same ones serve drawings and uploaded pictures. */
import type { Darkroom, Raster } from "../raster.ts";
import type { Style } from "../words/scene-words.ts";
import { ink, pencil } from "./lines.ts";
import { mosaic } from "./mosaic.ts";
import { neon } from "./neon.ts";
import { oil } from "./oil.ts";
import { papercut } from "./papercut.ts";
import { pixel } from "./pixel.ts";
import { comic, flat, pointillist, woodblock } from "./prints.ts";
import { mono, pastel, sepia } from "./tones.ts";
import { watercolour } from "./watercolour.ts";

export const styleFilters: Record<Style, (room: Darkroom, raster: Raster) => Promise<Raster>> = {
  watercolour,
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
