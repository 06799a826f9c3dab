/** Valid PNG files of a given size: incompressible noise, and a scene that compresses like a photograph. */

import { crc32, deflateSync } from "node:zlib";

export interface Shape {
  readonly width: number;
  readonly height: number;
}

/** Noise, stored uncompressed: three bytes per pixel, and the same for the same seed in every process. */
export function noisePng(shape: Shape, seed: number): Buffer {
  const rows = rowsOf(shape);
  const words = new Uint32Array(rows.buffer, 0, Math.floor(rows.length / 4));
  const next = xorshift(seed);
  for (let at = 0; at < words.length; at++) words[at] = next();
  markRows(rows, shape, 0);
  return png(shape, deflateSync(rows, { level: 0 }));
}

/** Soft colors, some edges and a little grain: it compresses as a photograph does, to half its size. */
export function photoPng(shape: Shape): Buffer {
  const { width, height } = shape;
  const rows = rowsOf(shape);
  const row = 1 + width * 3;
  const next = xorshift(0);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inside = Math.hypot(x - width * 0.6, y - height * 0.4) < width / 5;
      for (let channel = 0; channel < 3; channel++) {
        const light = Math.sin(x / (90 + 40 * channel)) + Math.cos(y / (130 - 30 * channel));
        rows[y * row + 1 + x * 3 + channel] =
          128 + 45 * light + (inside ? 30 : 0) + ((next() >>> 28) - 8) / 2;
      }
    }
  }
  // As encoders do, the differences to the pixel on the left are compressed (filter Sub); right to left, because each
  // needs the original value.
  for (let y = 0; y < height; y++)
    for (let at = y * row + row - 1; at > y * row + 3; at--)
      rows[at] = (rows[at] as number) - (rows[at - 3] as number);
  markRows(rows, shape, 1);
  return png(shape, deflateSync(rows));
}

/** Marsaglia's xorshift: pseudorandom numbers of 32 bits. */
function xorshift(seed: number): () => number {
  // Never 0, which is a fixed point.
  let state = ((seed + 1) * 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  };
}

/** A filter byte and the pixels for each row. */
const rowsOf = ({ width, height }: Shape): Uint8Array =>
  new Uint8Array(new ArrayBuffer(height * (1 + width * 3)));

function markRows(rows: Uint8Array, { width, height }: Shape, filter: number): void {
  for (let y = 0; y < height; y++) rows[y * (1 + width * 3)] = filter;
}

function png({ width, height }: Shape, compressed: Uint8Array): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for each of red, green and blue.
  head.set([8, 2], 8);
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([
    signature,
    ...chunk("IHDR", head),
    ...chunk("IDAT", compressed),
    ...chunk("IEND", new Uint8Array()),
  ]);
}

function chunk(type: string, body: Uint8Array): Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body, crc32(type)));
  return [length, Buffer.from(type), body, sum];
}
