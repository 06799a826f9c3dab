/** The style oil: layers of brush strokes, broad to fine, along the edges of the image; then relief lighting. */
import {
  blur,
  clampByte,
  type FilterContext,
  forEachBand,
  luminancePlane,
  type Raster,
  toSharp,
  unitOf,
  valueNoise,
} from "../raster/raster.ts";

interface Coat {
  readonly radius: number;
  readonly length: number;
  /** Strokes are drawn only where the canvas differs from the image by more than this. */
  readonly tolerance: number;
}

/** The inputs of all strokes of one coat. */
interface CoatInputs {
  readonly canvas: Uint8Array;
  readonly source: Uint8Array;
  readonly light: Uint8Array;
  /** The direction of strokes where there is no edge: 0..255 for half a turn. */
  readonly flow: Uint8Array;
  readonly bristles: Float32Array;
  readonly width: number;
  readonly height: number;
  readonly coat: Coat;
}

const bristleCount = 4096;

export async function oil(context: FilterContext, image: Raster): Promise<Raster> {
  // Oil paint is more saturated than the drawing.
  const rich = await toSharp(context.sharp, image).modulate({ saturation: 1.16 }).raw().toBuffer();
  const raster: Raster = { ...image, pixels: rich };
  const unit = Math.max(0.35, unitOf(raster));
  const { width, height } = raster;
  const canvas = new Uint8Array(raster.pixels);
  for (let i = 0; i < canvas.length; i += 4) {
    canvas[i] = 120;
    canvas[i + 1] = 104;
    canvas[i + 2] = 92;
  }
  const bristles = new Float32Array(bristleCount);
  for (let i = 0; i < bristleCount; i++) bristles[i] = context.random.between(-10, 10);
  const flow = await valueNoise(context, width, height, 210 * unit);
  const coats: Coat[] = [
    { radius: 14 * unit, length: 5, tolerance: 0 },
    { radius: 7.5 * unit, length: 6, tolerance: 16 },
    { radius: 3.8 * unit, length: 6, tolerance: 21 },
    ...(context.detail > 1.2 ? [{ radius: 2.4 * unit, length: 6, tolerance: 18 }] : []),
  ];
  for (const template of coats) {
    const coat = { ...template, radius: Math.max(1.4, template.radius) };
    const source = await blur(context, raster, coat.radius * 0.45);
    const light = await luminancePlane(context, { width, height, pixels: source });
    await paintCoat(context, { canvas, source, light, flow, bristles, width, height, coat });
  }
  return { width, height, pixels: await applyRelief(context, { width, height, pixels: canvas }) };
}

async function paintCoat(context: FilterContext, inputs: CoatInputs): Promise<void> {
  const { canvas, source, width, height, coat } = inputs;
  const random = context.random.fork(`coat ${coat.radius}`);
  const step = Math.max(2, Math.round(coat.radius * 1.1));
  const columns = Math.ceil(width / step);
  const spots = Uint32Array.from({ length: columns * Math.ceil(height / step) }, (_, i) => i);
  // Shuffled, so that the order of strokes is not visible.
  for (let i = spots.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    const held = spots[i] ?? 0;
    spots[i] = spots[j] ?? 0;
    spots[j] = held;
  }
  for (let n = 0; n < spots.length; n++) {
    if ((n & 127) === 0) await context.checkpoint();
    const spot = spots[n] ?? 0;
    const x = Math.min(width - 1, Math.floor((spot % columns) * step + random.next() * step));
    const y = Math.min(
      height - 1,
      Math.floor(Math.floor(spot / columns) * step + random.next() * step),
    );
    const at = (y * width + x) * 4;
    const off =
      Math.abs((source[at] ?? 0) - (canvas[at] ?? 0)) +
      Math.abs((source[at + 1] ?? 0) - (canvas[at + 1] ?? 0)) +
      Math.abs((source[at + 2] ?? 0) - (canvas[at + 2] ?? 0));
    if (off >= coat.tolerance * 3) stroke(inputs, x, y, random.next(), random.next());
  }
}

function stroke(inputs: CoatInputs, x0: number, y0: number, tilt: number, hue: number): void {
  const { source, light, flow, width, height, coat } = inputs;
  const at0 = (y0 * width + x0) * 4;
  const wobble = (hue - 0.5) * 16;
  const red = (source[at0] ?? 0) + wobble;
  const green = (source[at0 + 1] ?? 0) + (tilt - 0.5) * 12;
  const blue = (source[at0 + 2] ?? 0) - wobble * 0.7;
  const lane = Math.floor(hue * (bristleCount - 256)) + 128;
  const stride = Math.max(1, coat.radius * 0.9);
  let x = x0;
  let y = y0;
  let dirX = 0;
  let dirY = 0;
  for (let step = 0; step < coat.length; step++) {
    const px = Math.round(x);
    const py = Math.round(y);
    if (px < 1 || py < 1 || px >= width - 1 || py >= height - 1) break;
    const i = py * width + px;
    const gx = (light[i + 1] ?? 0) - (light[i - 1] ?? 0);
    const gy = (light[i + width] ?? 0) - (light[i - width] ?? 0);
    const steep = Math.sqrt(gx * gx + gy * gy);
    // Strokes follow the edge if there is one, else the flow field.
    const angle = (((flow[i] ?? 128) - 128) / 128) * 2.2 + 0.35 + (tilt - 0.5) * 0.5;
    let nx = steep > 5 ? -gy / steep : Math.cos(angle);
    let ny = steep > 5 ? gx / steep : Math.sin(angle);
    if (dirX * nx + dirY * ny < 0) {
      nx = -nx;
      ny = -ny;
    }
    dirX = step === 0 ? nx : dirX * 0.5 + nx * 0.5;
    dirY = step === 0 ? ny : dirY * 0.5 + ny * 0.5;
    const size = Math.sqrt(dirX * dirX + dirY * dirY) || 1;
    dirX /= size;
    dirY /= size;
    if (step > 1) {
      const o = i * 4;
      const drift =
        Math.abs((source[o] ?? 0) - red) +
        Math.abs((source[o + 1] ?? 0) - green) +
        Math.abs((source[o + 2] ?? 0) - blue);
      if (drift > 70) break;
    }
    const radius = step === coat.length - 1 ? coat.radius * 0.77 : coat.radius;
    dab(inputs, px, py, radius, dirX, dirY, lane, red, green, blue);
    x += dirX * stride;
    y += dirY * stride;
  }
}

/** One round dab of the brush. Bristles leave stripes along the stroke. */
function dab(
  { canvas, bristles, width, height }: CoatInputs,
  px: number,
  py: number,
  radius: number,
  dirX: number,
  dirY: number,
  lane: number,
  red: number,
  green: number,
  blue: number,
): void {
  const reach = Math.ceil(radius);
  const limit = radius * radius;
  for (let cy = Math.max(0, py - reach); cy <= Math.min(height - 1, py + reach); cy++) {
    const dy = cy - py;
    if (dy * dy > limit) continue;
    const half = Math.floor(Math.sqrt(limit - dy * dy));
    const from = Math.max(0, px - half);
    const to = Math.min(width - 1, px + half);
    let across = (from - px) * -dirY + dy * dirX + lane;
    let o = (cy * width + from) * 4;
    for (let cx = from; cx <= to; cx++) {
      const bristle = bristles[across | 0] ?? 0;
      canvas[o] = clampByte(red + bristle);
      canvas[o + 1] = clampByte(green + bristle);
      canvas[o + 2] = clampByte(blue + bristle);
      o += 4;
      across -= dirY;
    }
  }
}

/** Relief lighting from the upper left. */
async function applyRelief(context: FilterContext, raster: Raster): Promise<Uint8Array> {
  const { width, height, pixels } = raster;
  const light = await luminancePlane(context, raster);
  const out = new Uint8Array(pixels);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = Math.max(1, from); y < Math.min(height - 1, to); y++) {
      for (let x = 1; x < width - 1; x++) {
        const i = y * width + x;
        const ridge = ((light[i + width + 1] ?? 0) - (light[i - width - 1] ?? 0)) * 0.34;
        const relief = Math.max(-16, Math.min(16, ridge));
        const o = i * 4;
        out[o] = clampByte((pixels[o] ?? 0) + relief);
        out[o + 1] = clampByte((pixels[o + 1] ?? 0) + relief);
        out[o + 2] = clampByte((pixels[o + 2] ?? 0) + relief);
      }
    }
  });
  return out;
}
