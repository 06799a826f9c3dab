/** Pixel art: few large pixels, few colours, an ordered dither between them. */
import { posterised } from "../quantise.ts";
import { type Darkroom, open, type Raster } from "../raster.ts";

export async function pixel(room: Darkroom, raster: Raster): Promise<Raster> {
  const short = Math.min(raster.width, raster.height);
  const cells = Math.min(
    short,
    room.detail < 0.8 ? 96 : room.detail < 1.3 ? 128 : room.detail < 2 ? 160 : 200,
  );
  const factor = cells / short;
  const [width, height] = [
    Math.max(1, Math.round(raster.width * factor)),
    Math.max(1, Math.round(raster.height * factor)),
  ];
  const small = await open(room.sharp, raster)
    .resize(width, height, { fit: "fill", kernel: "lanczos3" })
    .modulate({ saturation: 1.12 })
    .raw()
    .toBuffer();
  // Hard edges of transparency: pixels are there or they are not.
  for (let i = 3; i < small.length; i += 4) small[i] = (small[i] ?? 0) < 110 ? 0 : 255;
  const few = await posterised(room, { width, height, pixels: small }, 32, 13);
  const pixels = await open(room.sharp, few)
    .resize(raster.width, raster.height, { fit: "fill", kernel: "nearest" })
    .raw()
    .toBuffer();
  return { width: raster.width, height: raster.height, pixels };
}
