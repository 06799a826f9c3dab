/** The mask: which pixels may change, how softly inside, and the box they lie in. */
import { GatewayError } from "../../../../std/gateway-error.ts";
import type { Size } from "../options.ts";
import { blurredPlane, type Darkroom, inBands, type Raster, unitOf } from "../raster.ts";
import { decode, type Upload } from "./inputs.ts";

export interface Mask {
  /** 0 keep .. 255 replace, one byte a pixel. Exactly 0 wherever the mask is opaque. */
  readonly change: Uint8Array;
  readonly box: {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
}

const refuse = (message: string): GatewayError =>
  new GatewayError("invalid_value", message, { param: "mask" });

export function checkMask(mask: Upload, image: Size): void {
  if (mask.kind !== "png") throw refuse("The mask must be a PNG file.");
  if (!mask.hasAlpha)
    throw refuse(
      "The mask has no alpha channel. Fully transparent pixels mark the area to change.",
    );
  if (mask.size.width !== image.width || mask.size.height !== image.height) {
    throw refuse(
      `The mask is ${mask.size.width}x${mask.size.height}, but the image is ${image.width}x${image.height}. Both must have the same dimensions.`,
    );
  }
}

export async function readMask(room: Darkroom, upload: Upload, size: Size): Promise<Mask> {
  const { pixels } = await decode(room.sharp, upload, size);
  const { width, height } = size;
  const area = new Uint8Array(width * height);
  let [left, top, right, bottom] = [width, height, -1, -1];
  await inBands(room, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const open = 255 - (pixels[(y * width + x) * 4 + 3] ?? 255);
        if (open === 0) continue;
        area[y * width + x] = open;
        if (x < left) left = x;
        if (x > right) right = x;
        if (y < top) top = y;
        if (y > bottom) bottom = y;
      }
    }
  });
  if (right < 0) throw refuse("The mask has no transparent pixels, so there is nothing to change.");
  const box = { left, top, width: right - left + 1, height: bottom - top + 1 };
  return { change: await feathered(room, area, size, box), box };
}

/** Softer towards the edge, on the inner side only: what is opaque in the mask stays at 0. */
async function feathered(
  room: Darkroom,
  area: Uint8Array,
  size: Size,
  box: Mask["box"],
): Promise<Uint8Array> {
  const sigma = Math.min(
    2.6 * unitOf({ ...size, pixels: area } satisfies Raster),
    Math.min(box.width, box.height) / 16,
  );
  if (sigma < 0.4) return area;
  const soft = await blurredPlane(room, area, size.width, size.height, sigma);
  const out = new Uint8Array(area.length);
  await inBands(room, size.width, size.height, (from, to) => {
    for (let i = from * size.width; i < to * size.width; i++) {
      const open = area[i] ?? 0;
      if (open === 0) continue;
      out[i] = Math.round(open * Math.min(1, Math.max(0, ((soft[i] ?? 0) / 255 - 0.42) * 2.2)));
    }
  });
  return out;
}

/** Outside the mask every byte is the original's. */
export async function throughMask(
  room: Darkroom,
  original: Raster,
  drawn: Raster,
  mask: Mask,
): Promise<Raster> {
  const out = new Uint8Array(original.pixels);
  await inBands(room, original.width, original.height, (from, to) => {
    for (let i = from * original.width; i < to * original.width; i++) {
      const k = (mask.change[i] ?? 0) / 255;
      if (k === 0) continue;
      const at = i * 4;
      const [a, b] = [
        ((original.pixels[at + 3] ?? 0) / 255) * (1 - k),
        ((drawn.pixels[at + 3] ?? 0) / 255) * k,
      ];
      const sum = a + b;
      for (let c = 0; c < 3; c++)
        out[at + c] =
          sum === 0
            ? (drawn.pixels[at + c] ?? 0)
            : Math.round(
                ((original.pixels[at + c] ?? 0) * a + (drawn.pixels[at + c] ?? 0) * b) / sum,
              );
      out[at + 3] = Math.round(sum * 255);
    }
  });
  return { ...original, pixels: out };
}
