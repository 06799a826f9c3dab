/** Animated GIF: one palette for all frames, unchanged pixels left out, LZW as the format has it. */
import { indexPixels, medianCut } from "./quantize.ts";
import type { FilterContext, Raster } from "./raster.ts";

const transparent = 255;

/** Frames are drawn one by one and dropped once written, so memory holds two of them, not all. */
export async function encodeGif(
  context: FilterContext,
  count: number,
  delayMs: number,
  frameAt: (index: number) => Promise<Raster>,
  clear: boolean,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const first = await frameAt(0);
  const middle = await frameAt(Math.floor(count / 2));
  const colorTable = medianCut([first.pixels, middle.pixels], 255);
  parts.push(header(first, colorTable.colors));
  let before: Uint8Array | undefined;
  for (let i = 0; i < count; i++) {
    const frame = i === 0 ? first : i === Math.floor(count / 2) ? middle : await frameAt(i);
    const index = await indexPixels(context, frame, colorTable, 6);
    if (clear)
      for (let p = 0; p < index.length; p++)
        if ((frame.pixels[p * 4 + 3] ?? 255) < 128) index[p] = transparent;
    const shown = !clear && before !== undefined ? differences(index, before) : index;
    parts.push(
      control(delayMs, clear ? 2 : 1),
      imageStart(frame),
      await compress(context, shown, 8),
    );
    before = index;
    await context.checkpoint();
  }
  parts.push(Uint8Array.of(0x3b));
  return join(parts);
}

function differences(index: Uint8Array, before: Uint8Array): Uint8Array {
  const out = new Uint8Array(index);
  for (let i = 0; i < out.length; i++) if (index[i] === before[i]) out[i] = transparent;
  return out;
}

const short = (value: number): [number, number] => [value & 255, (value >> 8) & 255];

function header({ width, height }: Raster, colors: Uint8Array): Uint8Array {
  const table = new Uint8Array(768);
  table.set(colors.subarray(0, 765));
  const text = [...new TextEncoder().encode("GIF89a")];
  const loop = [0x21, 0xff, 0x0b, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0];
  return join([
    Uint8Array.from([...text, ...short(width), ...short(height), 0xf7, 0, 0]),
    table,
    Uint8Array.from(loop),
  ]);
}

const control = (delayMs: number, disposal: number): Uint8Array =>
  Uint8Array.from([
    0x21,
    0xf9,
    4,
    (disposal << 2) | 1,
    ...short(Math.round(delayMs / 10)),
    transparent,
    0,
  ]);
const imageStart = ({ width, height }: Raster): Uint8Array =>
  Uint8Array.from([0x2c, 0, 0, 0, 0, ...short(width), ...short(height), 0]);

/** LZW with a growing code width, cut into blocks of at most 255 bytes. */
async function compress(
  context: FilterContext,
  index: Uint8Array,
  depth: number,
): Promise<Uint8Array> {
  const out = new Growing(index.length >> 2);
  const blocks = new BlockWriter(out);
  out.push(depth);
  const clearCode = 1 << depth;
  const end = clearCode + 1;
  // Keyed by (prefix code, next pixel); 0 is "not known", so codes are kept plus one.
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

class Growing {
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

/** Bits, lowest first, in length-prefixed blocks. */
class BlockWriter {
  #out: Growing;
  #start = -1;
  #count = 0;
  #bits = 0;
  #held = 0;
  constructor(out: Growing) {
    this.#out = out;
  }
  write(code: number, width: number): void {
    this.#bits |= code << this.#held;
    this.#held += width;
    while (this.#held >= 8) {
      this.#byte(this.#bits & 255);
      this.#bits >>>= 8;
      this.#held -= 8;
    }
  }
  close(): void {
    if (this.#held > 0) this.#byte(this.#bits & 255);
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

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
