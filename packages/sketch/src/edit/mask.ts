/** The mask of an edit: which pixels may change, with feathered edges, and the box that contains them. */
import type { Size } from "../options.ts";
import {
  blurPlane,
  type FilterContext,
  forEachBand,
  type Raster,
  unitOf,
} from "../raster/raster.ts";
import { SketchError } from "../sketch-error.ts";
import { decode, type Upload } from "./uploads.ts";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Mask {
  /** One byte per pixel: 0 keeps the pixel, 255 replaces it. Exactly 0 wherever the mask file is opaque. */
  readonly change: Uint8Array;
  readonly box: Box;
}

const invalid = (message: string): SketchError =>
  new SketchError("invalid_value", message, { param: "mask" });

export function checkMask(mask: Upload, image: Size): void {
  if (mask.type !== "png") throw invalid("The mask must be a PNG file.");
  if (!mask.hasAlpha) {
    throw invalid(
      "The mask has no alpha channel. Fully transparent pixels mark the area to change.",
    );
  }
  if (mask.size.width !== image.width || mask.size.height !== image.height) {
    throw invalid(
      `The mask is ${mask.size.width}x${mask.size.height}, but the image is ${image.width}x${image.height}. Both must have the same dimensions.`,
    );
  }
}

export async function readMask(context: FilterContext, upload: Upload, size: Size): Promise<Mask> {
  const { pixels } = await decode(context.sharp, upload, size);
  const { width, height } = size;
  const area = new Uint8Array(width * height);
  let [left, top, right, bottom] = [width, height, -1, -1];
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const transparency = 255 - (pixels[(y * width + x) * 4 + 3] ?? 255);
        if (transparency === 0) continue;
        area[y * width + x] = transparency;
        if (x < left) left = x;
        if (x > right) right = x;
        if (y < top) top = y;
        if (y > bottom) bottom = y;
      }
    }
  });
  if (right < 0) {
    throw invalid("The mask has no transparent pixels, so there is nothing to change.");
  }
  const box = { left, top, width: right - left + 1, height: bottom - top + 1 };
  return { change: await feather(context, area, size, box), box };
}

/** Feathers the edge on its inner side only: pixels that are opaque in the mask file stay at 0. */
async function feather(
  context: FilterContext,
  area: Uint8Array,
  size: Size,
  box: Box,
): Promise<Uint8Array> {
  const sigma = Math.min(2.6 * unitOf(size), Math.min(box.width, box.height) / 16);
  if (sigma < 0.4) return area;
  const soft = await blurPlane(context, area, size.width, size.height, sigma);
  const out = new Uint8Array(area.length);
  await forEachBand(context, size.width, size.height, (from, to) => {
    for (let i = from * size.width; i < to * size.width; i++) {
      const transparency = area[i] ?? 0;
      if (transparency === 0) continue;
      const edge = Math.min(1, Math.max(0, ((soft[i] ?? 0) / 255 - 0.42) * 2.2));
      out[i] = Math.round(transparency * edge);
    }
  });
  return out;
}

/** Blends `drawn` into `original` where the mask allows it. Outside of the mask every byte is the original's. */
export async function compositeThroughMask(
  context: FilterContext,
  original: Raster,
  drawn: Raster,
  mask: Mask,
): Promise<Raster> {
  const out = new Uint8Array(original.pixels);
  await forEachBand(context, original.width, original.height, (from, to) => {
    for (let i = from * original.width; i < to * original.width; i++) {
      const k = (mask.change[i] ?? 0) / 255;
      if (k === 0) continue;
      const at = i * 4;
      const a = ((original.pixels[at + 3] ?? 0) / 255) * (1 - k);
      const b = ((drawn.pixels[at + 3] ?? 0) / 255) * k;
      const sum = a + b;
      for (let c = 0; c < 3; c++) {
        const [before, after] = [original.pixels[at + c] ?? 0, drawn.pixels[at + c] ?? 0];
        out[at + c] = sum === 0 ? after : Math.round((before * a + after * b) / sum);
      }
      out[at + 3] = Math.round(sum * 255);
    }
  });
  return { ...original, pixels: out };
}
