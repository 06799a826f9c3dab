/** The finishing filters: saturation, bloom, film grain, vignette. */
import {
  blur,
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  noiseTile,
  type Raster,
  toSharp,
  unitOf,
} from "./raster.ts";

export interface FinishOptions {
  /** A factor; 1 leaves the colors as they are. */
  readonly saturation: number;
  /** 0..1 */
  readonly grain: number;
  readonly vignette: number;
  readonly bloom: number;
}

export async function finish(
  context: FilterContext,
  raster: Raster,
  options: FinishOptions,
): Promise<Raster> {
  const { width, height } = raster;
  const pixels =
    options.saturation === 1
      ? raster.pixels
      : await toSharp(context.sharp, raster)
          .modulate({ saturation: options.saturation })
          .raw()
          .toBuffer();
  const bright =
    options.bloom > 0 ? await bloomLayer(context, { width, height, pixels }) : undefined;
  if (options.grain === 0 && options.vignette === 0 && bright === undefined)
    return { width, height, pixels };
  const tile = noiseTile(context.random.fork("grain"));
  const out = new Uint8Array(pixels.length);
  const [cx, cy] = [width / 2, height / 2];
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      const dy = ((y - cy) / cy) ** 2;
      for (let x = 0; x < width; x++) {
        const i = (y * width + x) * 4;
        const far = ((x - cx) / cx) ** 2 + dy;
        const dim = far > 0.7 ? 1 - options.vignette * (far - 0.7) * 0.22 : 1;
        const speck = ((tile[((y & 255) << 8) | (x & 255)] ?? 128) - 128) * options.grain * 0.14;
        const shine = bright === undefined ? 0 : options.bloom;
        for (let c = 0; c < 3; c++) {
          const base = (pixels[i + c] ?? 0) * dim + speck;
          const light = shine === 0 ? 0 : (bright?.[i + c] ?? 0) * shine;
          out[i + c] = clampByte(base + light - (base * light) / 255);
        }
        out[i + 3] = pixels[i + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

async function bloomLayer(context: FilterContext, raster: Raster): Promise<Uint8Array> {
  const lamps = new Uint8Array(raster.pixels.length);
  await forEachBand(context, raster.width, raster.height, (from, to) => {
    for (let i = from * raster.width * 4; i < to * raster.width * 4; i += 4) {
      const over = Math.max(0, luminance(raster.pixels, i) - 205) / 50;
      for (let c = 0; c < 3; c++) lamps[i + c] = (raster.pixels[i + c] ?? 0) * Math.min(1, over);
      lamps[i + 3] = 255;
    }
  });
  return blur(context, { ...raster, pixels: lamps }, Math.max(0.8, 15 * unitOf(raster)));
}
