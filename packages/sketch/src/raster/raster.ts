/**
 * Rasters of RGBA pixels. Filters process them in bands of rows, so that a long filter does not block the event loop.
 */
import type { Random } from "../random.ts";

export type Sharp = typeof import("sharp").default;

export interface Raster {
  readonly width: number;
  readonly height: number;
  /** RGBA with straight (not premultiplied) alpha. */
  readonly pixels: Uint8Array;
}

/** The context that every filter gets. */
export interface FilterContext {
  readonly sharp: Sharp;
  readonly random: Random;
  /** From 0.5 (rough) to 3 (fine). */
  readonly detail: number;
  /** Yields to the event loop, and throws the signal's reason once the request is aborted. */
  readonly checkpoint: () => Promise<void>;
}

export const checkpointFor = (signal: AbortSignal) => async (): Promise<void> => {
  signal.throwIfAborted();
  await new Promise<void>((done) => setImmediate(done));
  signal.throwIfAborted();
};

/** Most filters need a few milliseconds for this many pixels. */
const bandPixels = 60_000;

/** Calls `work` for one band of rows after the other, with a checkpoint after each. */
export async function forEachBand(
  context: FilterContext,
  width: number,
  height: number,
  work: (from: number, to: number) => void,
): Promise<void> {
  const rows = Math.max(1, Math.floor(bandPixels / Math.max(1, width)));
  for (let from = 0; from < height; from += rows) {
    work(from, Math.min(height, from + rows));
    await context.checkpoint();
  }
}

export const clampByte = (value: number): number => Math.max(0, Math.min(255, value));
export const luminance = (pixels: Uint8Array, at: number): number =>
  0.2126 * (pixels[at] ?? 0) + 0.7152 * (pixels[at + 1] ?? 0) + 0.0722 * (pixels[at + 2] ?? 0);

export async function rasterize(
  sharp: Sharp,
  svg: string,
  width: number,
  height: number,
): Promise<Raster> {
  const { data, info } = await sharp(Buffer.from(svg))
    .resize(width, height, { fit: "fill" })
    .toColorspace("srgb")
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

export const toSharp = (sharp: Sharp, raster: Raster): ReturnType<Sharp> =>
  sharp(raster.pixels, { raw: { width: raster.width, height: raster.height, channels: 4 } });

/** Value noise, one byte per pixel: a small random grid, enlarged with cubic interpolation. */
export async function valueNoise(
  context: FilterContext,
  width: number,
  height: number,
  cell: number,
): Promise<Uint8Array> {
  const [columns, rows] = [
    Math.max(2, Math.ceil(width / cell)),
    Math.max(2, Math.ceil(height / cell)),
  ];
  const grid = new Uint8Array(columns * rows);
  for (let i = 0; i < grid.length; i++) grid[i] = context.random.next() * 256;
  return context
    .sharp(grid, { raw: { width: columns, height: rows, channels: 1 } })
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColorspace("b-w")
    .raw()
    .toBuffer();
}

/** A 256 × 256 tile of per-pixel noise. Readers wrap their coordinates. */
export function noiseTile(random: Random): Uint8Array {
  const tile = new Uint8Array(65_536);
  for (let i = 0; i < tile.length; i++) tile[i] = ((random.next() + random.next()) / 2) * 256;
  return tile;
}

export async function blur(
  context: FilterContext,
  raster: Raster,
  sigma: number,
): Promise<Uint8Array> {
  if (sigma < 0.3) return raster.pixels;
  return toSharp(context.sharp, raster).blur(sigma).raw().toBuffer();
}

/**
 * Blurs one channel. Small radii use floats: integer arithmetic is off by one in even areas, which shows in fine
 * lines.
 */
export async function blurPlane(
  context: FilterContext,
  plane: Uint8Array,
  width: number,
  height: number,
  sigma: number,
): Promise<Uint8Array> {
  return context
    .sharp(plane, { raw: { width, height, channels: 1 } })
    .blur({ sigma: Math.max(0.3, sigma), precision: sigma < 3 ? "float" : "integer" })
    .toColorspace("b-w")
    .raw()
    .toBuffer();
}

export async function luminancePlane(context: FilterContext, raster: Raster): Promise<Uint8Array> {
  const plane = new Uint8Array(raster.width * raster.height);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width; i < to * raster.width; i++)
      plane[i] = luminance(raster.pixels, i * 4);
  });
  return plane;
}

/** Converts the lengths in filters, which are for an image whose short side is 1024, to pixels. */
export const unitOf = ({ width, height }: Pick<Raster, "width" | "height">): number =>
  Math.min(width, height) / 1024;
