/** Real images for tests: small, each different from the others, and the same on every run. */
import sharp, { type Sharp } from "sharp";

export type PictureKind = "png" | "jpeg" | "webp";

export interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly kind: PictureKind;
  /** 1 to 100, of jpeg and webp. */
  readonly quality?: number;
  readonly transparent?: boolean;
  /** Nothing in it can be compressed: for pictures that weigh something. */
  readonly noisy?: boolean;
}

/** The same few are asked for again and again, by every vendor. */
const painted = new Map<string, Promise<Uint8Array>>();

export function paint(seed: string, canvas: Canvas): Promise<Uint8Array> {
  const key = JSON.stringify([seed, canvas]);
  const known = painted.get(key);
  if (known) return known;
  const made = draw(seed, canvas);
  painted.set(key, made);
  return made;
}

/** Wide, so that no one takes width for height. */
const across = 12;
const down = 8;

async function draw(seed: string, canvas: Canvas): Promise<Uint8Array> {
  const { width, height, transparent = false, noisy = false } = canvas;
  const cells = noisy ? { width, height } : { width: across, height: down };
  const channels = transparent ? 4 : 3;
  const pixels = chance(seed, cells.width * cells.height * channels);
  if (transparent) for (let at = 3; at < pixels.length; at += 4) pixels[at] = at % 8 < 4 ? 0 : 255;
  const drawn = sharp(pixels, { raw: { ...cells, channels } })
    .resize(width, height, { kernel: "nearest", fit: "fill" })
    .composite([{ input: await speckle(seed, width, height), left: 0, top: 0 }]);
  return new Uint8Array(await encoded(drawn, canvas).toBuffer());
}

/** A corner with fine detail, by which it shows how well a picture was kept. */
function speckle(seed: string, width: number, height: number): Promise<Buffer> {
  const size = { width: Math.min(width, 96), height: Math.min(height, 64) };
  const pixels = chance(`${seed} speckle`, size.width * size.height * 3);
  return sharp(pixels, { raw: { ...size, channels: 3 } })
    .png()
    .toBuffer();
}

function encoded(drawn: Sharp, { kind, quality = 90 }: Canvas): Sharp {
  if (kind === "png") return drawn.png({ compressionLevel: 3 });
  return kind === "jpeg" ? drawn.jpeg({ quality }) : drawn.webp({ quality });
}

/** Bytes that look like chance and are not. */
function chance(seed: string, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  let state = Number(Bun.hash(seed) & 0xffff_ffffn) || 1;
  for (let at = 0; at < count; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[at] = state & 0xff;
  }
  return bytes;
}

/**
 * A mask in OpenAI's way: what may change is transparent, and that is the left third. The colour is the same all over:
 * whoever looks at colours instead of transparency sees nothing.
 */
export function paintMask(width: number, height: number): Promise<Uint8Array> {
  const key = `mask of ${width}x${height}`;
  const made = painted.get(key) ?? drawMask(width, height);
  painted.set(key, made);
  return made;
}

async function drawMask(width: number, height: number): Promise<Uint8Array> {
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    const open = at % width < width / 3;
    pixels.set(open ? [128, 128, 128, 0] : [128, 128, 128, 255], at * 4);
  }
  const raw = { width, height, channels: 4 } as const;
  return new Uint8Array(await sharp(pixels, { raw }).png().toBuffer());
}

export interface Seen {
  readonly width: number;
  readonly height: number;
  /** Four bytes for each pixel. */
  readonly pixels: Uint8Array;
}

export async function look(picture: Uint8Array): Promise<Seen> {
  const { data, info } = await sharp(picture)
    .ensureAlpha()
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: new Uint8Array(data) };
}
