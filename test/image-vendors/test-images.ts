/** Real images for tests: small, each different from the others, and the same on every run. */
import sharp, { type Sharp } from "sharp";

export type ImageFormat = "png" | "jpeg" | "webp";

export interface ImageSpec {
  readonly width: number;
  readonly height: number;
  readonly kind: ImageFormat;
  /** 1 to 100, of jpeg and webp. */
  readonly quality?: number;
  readonly transparent?: boolean;
  /** Incompressible, for large files. */
  readonly noisy?: boolean;
}

/** Every vendor uses the same few images again. */
const cache = new Map<string, Promise<Uint8Array>>();

export function createImage(seed: string, spec: ImageSpec): Promise<Uint8Array> {
  const key = JSON.stringify([seed, spec]);
  const cached = cache.get(key);
  if (cached) return cached;
  const made = renderImage(seed, spec);
  cache.set(key, made);
  return made;
}

/** Wide, so that swapped width and height are found. */
const across = 12;
const down = 8;

async function renderImage(seed: string, spec: ImageSpec): Promise<Uint8Array> {
  const { width, height, transparent = false, noisy = false } = spec;
  const cells = noisy ? { width, height } : { width: across, height: down };
  const channels = transparent ? 4 : 3;
  const pixels = pseudoRandomBytes(seed, cells.width * cells.height * channels);
  if (transparent) for (let at = 3; at < pixels.length; at += 4) pixels[at] = at % 8 < 4 ? 0 : 255;
  const rendered = sharp(pixels, { raw: { ...cells, channels } })
    .resize(width, height, { kernel: "nearest", fit: "fill" })
    .composite([{ input: await detailCorner(seed, width, height), left: 0, top: 0 }]);
  return new Uint8Array(await encoded(rendered, spec).toBuffer());
}

/** A corner with fine detail, which shows the loss of a conversion. */
function detailCorner(seed: string, width: number, height: number): Promise<Buffer> {
  const size = { width: Math.min(width, 96), height: Math.min(height, 64) };
  const pixels = pseudoRandomBytes(`${seed} speckle`, size.width * size.height * 3);
  return sharp(pixels, { raw: { ...size, channels: 3 } })
    .png()
    .toBuffer();
}

function encoded(rendered: Sharp, { kind, quality = 90 }: ImageSpec): Sharp {
  if (kind === "png") return rendered.png({ compressionLevel: 3 });
  return kind === "jpeg" ? rendered.jpeg({ quality }) : rendered.webp({ quality });
}

/** Deterministic pseudo-random bytes (xorshift32). */
function pseudoRandomBytes(seed: string, count: number): Uint8Array {
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
 * A mask in OpenAI's convention: the left third is transparent, which is the area to change. The color is the same
 * everywhere, so that code that reads colors instead of transparency finds nothing.
 */
export function createMask(width: number, height: number): Promise<Uint8Array> {
  const key = `mask of ${width}x${height}`;
  const made = cache.get(key) ?? renderMask(width, height);
  cache.set(key, made);
  return made;
}

async function renderMask(width: number, height: number): Promise<Uint8Array> {
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    const open = at % width < width / 3;
    pixels.set(open ? [128, 128, 128, 0] : [128, 128, 128, 255], at * 4);
  }
  const raw = { width, height, channels: 4 } as const;
  return new Uint8Array(await sharp(pixels, { raw }).png().toBuffer());
}

interface DecodedImage {
  readonly width: number;
  readonly height: number;
  /** Four bytes for each pixel. */
  readonly pixels: Uint8Array;
}

export async function decodeImage(image: Uint8Array): Promise<DecodedImage> {
  const { data, info } = await sharp(image)
    .ensureAlpha()
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: new Uint8Array(data) };
}
