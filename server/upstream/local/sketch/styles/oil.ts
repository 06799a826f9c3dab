/** Oil: three coats of brush strokes, broad to fine, laid along the shapes; then light on the ridges of paint. */
import {
  blurred,
  clampByte,
  type Darkroom,
  inBands,
  luminance,
  type Raster,
  softNoise,
  unitOf,
} from "../raster.ts";

interface Coat {
  readonly radius: number;
  readonly length: number;
  /** Strokes are laid only where the canvas is off by this much. */
  readonly tolerance: number;
}

export async function oil(room: Darkroom, raster: Raster): Promise<Raster> {
  const unit = Math.max(0.35, unitOf(raster));
  const canvas = Uint8Array.from(raster.pixels);
  for (let i = 0; i < canvas.length; i += 4) {
    canvas[i] = 120;
    canvas[i + 1] = 104;
    canvas[i + 2] = 92;
  }
  const flow = await softNoise(room, raster.width, raster.height, 210 * unit);
  const coats: Coat[] = [
    { radius: 14 * unit, length: 5, tolerance: 0 },
    { radius: 7.5 * unit, length: 6, tolerance: 14 },
    { radius: 3.8 * unit, length: 6, tolerance: 20 },
    ...(room.detail > 1.2 ? [{ radius: 2.4 * unit, length: 6, tolerance: 18 }] : []),
  ];
  for (const coat of coats) await lay(room, raster, canvas, flow, coat);
  return { ...raster, pixels: await varnish(room, { ...raster, pixels: canvas }) };
}

async function lay(
  room: Darkroom,
  raster: Raster,
  canvas: Uint8Array,
  flow: Uint8Array,
  coat: Coat,
): Promise<void> {
  const { width, height } = raster;
  const radius = Math.max(1.4, coat.radius);
  const source = await blurred(room, raster, radius * 0.45);
  const random = room.random.fork(`coat ${coat.radius}`);
  const step = Math.max(2, Math.round(radius * 1.05));
  const spots: number[] = [];
  for (let y = step >> 1; y < height; y += step)
    for (let x = step >> 1; x < width; x += step) spots.push(y * width + x);
  // Shuffled, so that no direction of laying shows.
  for (let i = spots.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [spots[i], spots[j]] = [spots[j] ?? 0, spots[i] ?? 0];
  }
  for (let n = 0; n < spots.length; n++) {
    if ((n & 255) === 0) await room.pace();
    const spot = spots[n] ?? 0;
    const at = spot * 4;
    const off =
      Math.abs((source[at] ?? 0) - (canvas[at] ?? 0)) +
      Math.abs((source[at + 1] ?? 0) - (canvas[at + 1] ?? 0)) +
      Math.abs((source[at + 2] ?? 0) - (canvas[at + 2] ?? 0));
    if (off < coat.tolerance * 3) continue;
    stroke(
      canvas,
      source,
      flow,
      width,
      height,
      spot % width,
      Math.floor(spot / width),
      radius,
      coat.length,
      random.next(),
      random.next(),
    );
  }
}

function stroke(
  canvas: Uint8Array,
  source: Uint8Array,
  flow: Uint8Array,
  width: number,
  height: number,
  x0: number,
  y0: number,
  radius: number,
  length: number,
  tilt: number,
  hue: number,
): void {
  const at0 = (y0 * width + x0) * 4;
  const wobble = (hue - 0.5) * 16;
  const red = (source[at0] ?? 0) + wobble;
  const green = (source[at0 + 1] ?? 0) + (tilt - 0.5) * 12;
  const blue = (source[at0 + 2] ?? 0) - wobble * 0.7;
  let [x, y] = [x0 as number, y0 as number];
  let [dirX, dirY] = [0, 0];
  const reach = Math.max(1, Math.ceil(radius));
  const stride = Math.max(1, radius * 0.9);
  // Bristles: stripes along the stroke, one entry a lane.
  const lanes = new Float32Array(reach * 4 + 4);
  for (let lane = 0; lane < lanes.length; lane++) {
    lanes[lane] = Math.sin(lane * 2.6 + hue * 50) * 7 + Math.sin(lane * 1.1 + tilt * 50) * 5;
  }
  for (let step = 0; step < length; step++) {
    const [px, py] = [Math.round(x), Math.round(y)];
    if (px < 1 || py < 1 || px >= width - 1 || py >= height - 1) break;
    const i = (py * width + px) * 4;
    const gx = luminance(source, i + 4) - luminance(source, i - 4);
    const gy = luminance(source, i + width * 4) - luminance(source, i - width * 4);
    const steep = Math.hypot(gx, gy);
    // Along the edge where there is one, along the wind where there is none.
    const angle = (((flow[py * width + px] ?? 128) - 128) / 128) * 2.2 + 0.35 + (tilt - 0.5) * 0.5;
    let [nx, ny] = steep > 5 ? [-gy / steep, gx / steep] : [Math.cos(angle), Math.sin(angle)];
    if (dirX * nx + dirY * ny < 0) [nx, ny] = [-nx, -ny];
    [dirX, dirY] = step === 0 ? [nx, ny] : [dirX * 0.5 + nx * 0.5, dirY * 0.5 + ny * 0.5];
    const size = Math.hypot(dirX, dirY) || 1;
    [dirX, dirY] = [dirX / size, dirY / size];
    if (step > 1) {
      const drift =
        Math.abs((source[i] ?? 0) - red) +
        Math.abs((source[i + 1] ?? 0) - green) +
        Math.abs((source[i + 2] ?? 0) - blue);
      if (drift > 70) break;
    }
    const taper = step === length - 1 ? 0.6 : 1;
    const limit = radius * radius * taper;
    for (let dy = -reach; dy <= reach; dy++) {
      const cy = py + dy;
      if (cy < 0 || cy >= height) continue;
      const half = Math.floor(Math.sqrt(Math.max(0, limit - dy * dy)));
      const from = Math.max(0, px - half);
      const to = Math.min(width - 1, px + half);
      let lane = (from - px) * -dirY + dy * dirX + reach * 2;
      let o = (cy * width + from) * 4;
      for (let cx = from; cx <= to; cx++) {
        const bristle = lanes[lane | 0] ?? 0;
        canvas[o] = clampByte(red + bristle);
        canvas[o + 1] = clampByte(green + bristle);
        canvas[o + 2] = clampByte(blue + bristle);
        o += 4;
        lane -= dirY;
      }
    }
    x += dirX * stride;
    y += dirY * stride;
  }
}

/** Light from the upper left on the ridges of the paint. */
async function varnish(room: Darkroom, { width, height, pixels }: Raster): Promise<Uint8Array> {
  const out = Uint8Array.from(pixels);
  await inBands(room, width, height, (from, to) => {
    for (let y = Math.max(1, from); y < Math.min(height - 1, to); y++) {
      for (let x = 1; x < width - 1; x++) {
        const i = (y * width + x) * 4;
        const ridge =
          (luminance(pixels, i - width * 4 - 4) - luminance(pixels, i + width * 4 + 4)) * -0.34;
        const relief = ridge < -16 ? -16 : ridge > 16 ? 16 : ridge;
        out[i] = clampByte((pixels[i] ?? 0) + relief);
        out[i + 1] = clampByte((pixels[i + 1] ?? 0) + relief);
        out[i + 2] = clampByte((pixels[i + 2] ?? 0) + relief);
      }
    }
  });
  return out;
}
