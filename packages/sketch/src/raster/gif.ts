/** Encodes animated GIF: one color table for all frames, unchanged pixels transparent, LZW compression. */
import { indexPixels, medianCut } from "./quantize.ts";
import type { FilterContext, Raster } from "./raster.ts";

const transparent = 255;

/** Frames are drawn one by one and released once written, so that at most three are in memory. */
export async function encodeGif(
  context: FilterContext,
  count: number,
  delayMs: number,
  frameAt: (index: number) => Promise<Raster>,
  hasAlpha: boolean,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const first = await frameAt(0);
  const middle = await frameAt(Math.floor(count / 2));
  const colorTable = medianCut([first.pixels, middle.pixels], 255);
  parts.push(header(first, colorTable.colors));
  // The two frames that the color table is made from are not drawn again.
  const frameOnce = async (i: number): Promise<Raster> => {
    if (i === 0) return first;
    return i === Math.floor(count / 2) ? middle : frameAt(i);
  };
  let previous: Uint8Array | undefined;
  for (let i = 0; i < count; i++) {
    const frame = await frameOnce(i);
    const index = await indexPixels(context, frame, colorTable, 6);
    if (hasAlpha)
      for (let p = 0; p < index.length; p++)
        if ((frame.pixels[p * 4 + 3] ?? 255) < 128) index[p] = transparent;
    const shown = !hasAlpha && previous !== undefined ? differences(index, previous) : index;
    parts.push(
      graphicControl(delayMs, hasAlpha ? 2 : 1),
      imageDescriptor(frame),
      await compress(context, shown, 8),
    );
    previous = index;
    await context.checkpoint();
  }
  parts.push(Uint8Array.of(0x3b));
  return concatenate(parts);
}

function differences(index: Uint8Array, previous: Uint8Array): Uint8Array {
  const out = new Uint8Array(index);
  for (let i = 0; i < out.length; i++) if (index[i] === previous[i]) out[i] = transparent;
  return out;
}

const uint16 = (value: number): [number, number] => [value & 255, (value >> 8) & 255];

function header({ width, height }: Raster, colors: Uint8Array): Uint8Array {
  const table = new Uint8Array(768);
  table.set(colors.subarray(0, 765));
  const text = [...new TextEncoder().encode("GIF89a")];
  const loop = [0x21, 0xff, 0x0b, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0];
  return concatenate([
    Uint8Array.from([...text, ...uint16(width), ...uint16(height), 0xf7, 0, 0]),
    table,
    Uint8Array.from(loop),
  ]);
}

const graphicControl = (delayMs: number, disposal: number): Uint8Array =>
  Uint8Array.from([
    0x21,
    0xf9,
    4,
    (disposal << 2) | 1,
    ...uint16(Math.round(delayMs / 10)),
    transparent,
    0,
  ]);
const imageDescriptor = ({ width, height }: Raster): Uint8Array =>
  Uint8Array.from([0x2c, 0, 0, 0, 0, ...uint16(width), ...uint16(height), 0]);

/** LZW with a growing code width, in blocks of at most 255 bytes. */
async function compress(
  context: FilterContext,
  index: Uint8Array,
  depth: number,
): Promise<Uint8Array> {
  const out = new GrowableBytes(index.length >> 2);
  const blocks = new BlockWriter(out);
  out.push(depth);
  const clearCode = 1 << depth;
  const end = clearCode + 1;
  // Keyed by prefix code and next pixel. 0 means unknown, so the table holds codes plus one.
  const table = new Int16Array(4096 << 8);
  const known: number[] = [];
  let next = end + 1;
  let width = depth + 1;
  blocks.write(clearCode, width);
  let prefix = index[0] ?? 0;
  for (let i = 1; i < index.length; i++) {
    if ((i & 0x3ffff) === 0) await context.checkpoint();
    const pixel = index[i] ?? 0;
    const key = (prefix << 8) | pixel;
    const code = table[key] ?? 0;
    if (code !== 0) {
      prefix = code - 1;
      continue;
    }
    blocks.write(prefix, width);
    if (next < 4096) {
      table[key] = next + 1;
      known.push(key);
      if (next === 1 << width && width < 12) width += 1;
      next += 1;
    } else {
      blocks.write(clearCode, width);
      for (const used of known) table[used] = 0;
      known.length = 0;
      next = end + 1;
      width = depth + 1;
    }
    prefix = pixel;
  }
  blocks.write(prefix, width);
  blocks.write(end, width);
  blocks.close();
  return out.done();
}

class GrowableBytes {
  #bytes: Uint8Array;
  #length = 0;
  constructor(size: number) {
    this.#bytes = new Uint8Array(Math.max(256, size));
  }
  push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }
  get length(): number {
    return this.#length;
  }
  set(at: number, byte: number): void {
    this.#bytes[at] = byte;
  }
  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Writes codes as bits, lowest first, in length-prefixed blocks. */
class BlockWriter {
  #out: GrowableBytes;
  #start = -1;
  #count = 0;
  #bits = 0;
  #bitCount = 0;
  constructor(out: GrowableBytes) {
    this.#out = out;
  }
  write(code: number, width: number): void {
    this.#bits |= code << this.#bitCount;
    this.#bitCount += width;
    while (this.#bitCount >= 8) {
      this.#byte(this.#bits & 255);
      this.#bits >>>= 8;
      this.#bitCount -= 8;
    }
  }
  close(): void {
    if (this.#bitCount > 0) this.#byte(this.#bits & 255);
    if (this.#count > 0) this.#out.set(this.#start, this.#count);
    this.#out.push(0);
  }
  #byte(value: number): void {
    if (this.#count === 0) {
      this.#start = this.#out.length;
      this.#out.push(0);
    }
    this.#out.push(value);
    this.#count += 1;
    if (this.#count === 255) {
      this.#out.set(this.#start, 255);
      this.#count = 0;
    }
  }
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
