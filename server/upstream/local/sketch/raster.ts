/** Pixels as RGBA rows, worked on in bands so that a long filter never holds up the gateway. */
import type { Signal } from "../../../std/signal.ts";
import { stopIfAborted } from "./abort.ts";
import type { Random } from "./random.ts";

export type Sharp = typeof import("sharp").default;

export interface Raster {
  readonly width: number;
  readonly height: number;
  /** RGBA, not premultiplied. */
  readonly pixels: Uint8Array;
}

/** What a filter works with. */
export interface Darkroom {
  readonly sharp: Sharp;
  readonly random: Random;
  /** 0.5 rough .. 3 fine */
  readonly detail: number;
  /** Lets others run, and throws once the caller has gone. */
  readonly pace: () => Promise<void>;
}

export const paceFor = (signal: Signal) => async (): Promise<void> => {
  stopIfAborted(signal);
  await new Promise<void>((done) => setImmediate(done));
  stopIfAborted(signal);
};

/** A few milliseconds of work for most filters. */
const bandPixels = 60_000;

/** Calls `work` for bands of rows until the whole height is done. */
export async function inBands(
  room: Darkroom,
  width: number,
  height: number,
  work: (from: number, to: number) => void,
): Promise<void> {
  const rows = Math.max(1, Math.floor(bandPixels / Math.max(1, width)));
  for (let from = 0; from < height; from += rows) {
    work(from, Math.min(height, from + rows));
    await room.pace();
  }
}

export const clampByte = (value: number): number => Math.max(0, Math.min(255, value));
export const luminance = (pixels: Uint8Array, at: number): number =>
  0.2126 * (pixels[at] ?? 0) + 0.7152 * (pixels[at + 1] ?? 0) + 0.0722 * (pixels[at + 2] ?? 0);

export async function rasterise(
  sharp: Sharp,
  svg: string,
  width: number,
  height: number,
): Promise<Raster> {
  const { data, info } = await sharp(Buffer.from(svg))
    .resize(width, height, { fit: "fill" })
    .toColourspace("srgb")
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

export const open = (sharp: Sharp, raster: Raster): ReturnType<Sharp> =>
  sharp(raster.pixels, { raw: { width: raster.width, height: raster.height, channels: 4 } });

/** Smooth noise, 0..255, one byte a pixel: a small random grid stretched by the library. */
export async function softNoise(
  room: Darkroom,
  width: number,
  height: number,
  cell: number,
): Promise<Uint8Array> {
  const [columns, rows] = [
    Math.max(2, Math.ceil(width / cell)),
    Math.max(2, Math.ceil(height / cell)),
  ];
  const grid = new Uint8Array(columns * rows);
  for (let i = 0; i < grid.length; i++) grid[i] = room.random.next() * 256;
  return room
    .sharp(grid, { raw: { width: columns, height: rows, channels: 1 } })
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
}

/** A 256 × 256 tile of fine noise, to be read with wrapped coordinates. */
export function fineNoise(random: Random): Uint8Array {
  const tile = new Uint8Array(65_536);
  for (let i = 0; i < tile.length; i++) tile[i] = ((random.next() + random.next()) / 2) * 256;
  return tile;
}

export async function blurred(room: Darkroom, raster: Raster, sigma: number): Promise<Uint8Array> {
  if (sigma < 0.3) return raster.pixels;
  return open(room.sharp, raster).blur(sigma).raw().toBuffer();
}

/** One channel, blurred. Whole numbers drift by a step in even areas, which fine lines would show. */
export async function blurredPlane(
  room: Darkroom,
  plane: Uint8Array,
  width: number,
  height: number,
  sigma: number,
): Promise<Uint8Array> {
  return room
    .sharp(plane, { raw: { width, height, channels: 1 } })
    .blur({ sigma: Math.max(0.3, sigma), precision: sigma < 3 ? "float" : "integer" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
}

export async function lightPlane(room: Darkroom, raster: Raster): Promise<Uint8Array> {
  const plane = new Uint8Array(raster.width * raster.height);
  await inBands(room, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width; i < to * raster.width; i++)
      plane[i] = luminance(raster.pixels, i * 4);
  });
  return plane;
}

/** Sizes in the filters are for a picture whose short side is 1024. */
export const unitOf = (raster: Raster): number => Math.min(raster.width, raster.height) / 1024;
