/** The styles pencil and ink: edges by difference of Gaussians, and hatching in the shadows. */
import {
  blurPlane,
  clampByte,
  type FilterContext,
  forEachBand,
  luminancePlane,
  noiseTile,
  type Raster,
  unitOf,
  valueNoise,
} from "../raster/raster.ts";

/** 0 on a line, 255 on bare paper. */
export async function edgePlane(
  context: FilterContext,
  raster: Raster,
  thickness: number,
  sharpness = 17,
): Promise<Uint8Array> {
  const { width, height } = raster;
  const light = await luminancePlane(context, raster);
  const sigma = Math.max(0.5, thickness * unitOf(raster));
  const [preciseNum, broad] = await Promise.all([
    blurPlane(context, light, width, height, sigma),
    blurPlane(context, light, width, height, sigma * 1.6),
  ]);
  const lines = new Uint8Array(width * height);
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) {
      const difference = (preciseNum[i] ?? 0) - (broad[i] ?? 0);
      lines[i] = clampByte(255 + Math.min(0, difference + 1.2) * sharpness * 2.4);
    }
  });
  return lines;
}

interface Medium {
  readonly paper: readonly [number, number, number];
  readonly ink: readonly [number, number, number];
  /** The distance between hatching lines. */
  readonly pitch: number;
  /** The share of the image that each direction of hatching covers, darkest parts first. */
  readonly shares: readonly [number, number, number];
  /** How much the grain of the paper breaks the lines. */
  readonly tooth: number;
  readonly weight: number;
}

const graphite: Medium = {
  paper: [250, 247, 240],
  ink: [58, 58, 66],
  pitch: 7.2,
  shares: [0.42, 0.2, 0.08],
  tooth: 0.5,
  weight: 1,
};
const indianInk: Medium = {
  paper: [248, 242, 228],
  ink: [26, 24, 34],
  pitch: 9,
  shares: [0.36, 0.18, 0.09],
  tooth: 0.08,
  weight: 1.35,
};

export const pencil = (context: FilterContext, raster: Raster): Promise<Raster> =>
  hatch(context, raster, graphite);
export const ink = (context: FilterContext, raster: Raster): Promise<Raster> =>
  hatch(context, raster, indianInk);

async function hatch(context: FilterContext, raster: Raster, medium: Medium): Promise<Raster> {
  const { width, height, pixels } = raster;
  const unit = Math.max(0.4, unitOf(raster));
  const [edges, wobble, light] = await Promise.all([
    edgePlane(context, raster, 1.5 * medium.weight),
    valueNoise(context, width, height, 46 * unit),
    luminancePlane(context, raster),
  ]);
  const shade = await blurPlane(context, light, width, height, 2.4 * unit);
  const grain = noiseTile(context.random.fork("tooth"));
  const steps = luminanceQuantiles(shade, medium.shares);
  const pitch = medium.pitch * unit;
  const angles = [0.9, -0.75, 0.2].map(
    (angle) => [Math.cos(angle) / pitch, Math.sin(angle) / pitch] as const,
  );
  const out = new Uint8Array(pixels.length);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const tooth = ((grain[((y & 255) << 8) | (x & 255)] ?? 128) - 128) / 128;
        const bend = (((wobble[i] ?? 128) - 128) / 128) * 0.45;
        let mark = 1 - (edges[i] ?? 255) / 255;
        const tone = shade[i] ?? 255;
        for (let s = 0; s < 3; s++) {
          const limit = steps[s] ?? 0;
          if (tone > limit) continue;
          const [cos, sin] = angles[s] ?? [1, 0];
          const across = x * cos + y * sin + bend;
          const stripe = Math.abs(across - Math.floor(across) - 0.5) * 2;
          const broad = 0.2 + ((limit - tone) / Math.max(40, limit)) * 0.4;
          const line = stripe < broad ? (1 - stripe / broad) * 1.5 : 0;
          mark = Math.max(mark, Math.min(0.82, line));
        }
        // A faint tone under the lines keeps shapes readable.
        mark = Math.max(mark, (Math.max(0, (steps[0] ?? 0) + 30 - tone) / 255) * 0.3);
        const strength = Math.min(1, Math.max(0, mark * (1 + tooth * medium.tooth * 1.3)));
        const at = i * 4;
        for (let c = 0; c < 3; c++) {
          const ground = (medium.paper[c] ?? 255) + tooth * 4;
          out[at + c] = clampByte(ground + ((medium.ink[c] ?? 0) - ground) * strength);
        }
        out[at + 3] = pixels[at + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

/** The luminance values below which the given shares of the pixels are. */
function luminanceQuantiles(plane: Uint8Array, shares: readonly number[]): number[] {
  const counts = new Uint32Array(256);
  for (let i = 0; i < plane.length; i += 7)
    counts[plane[i] ?? 0] = (counts[plane[i] ?? 0] ?? 0) + 1;
  const total = Math.ceil(plane.length / 7);
  return shares.map((share) => {
    let sum = 0;
    let light = 0;
    while (light < 255 && sum < total * share) sum += counts[light++] ?? 0;
    return Math.min(205, light);
  });
}
