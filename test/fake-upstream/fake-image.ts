/** Valid images of the requested size in one shade of gray, encoded by hand so that each takes microseconds. */

import { crc32, deflateSync } from "node:zlib";
import type { ImageInfo } from "./image-info.ts";

interface SolidImage extends ImageInfo {
  /** 0..255 */
  readonly shade: number;
  readonly transparent?: boolean;
}

/**
 * The image that the fake upstream generates: its shade depends on the prompt, the index in `data` and the stage
 * (partial images differ).
 */
export function fakeImage(
  prompt: string,
  index: number,
  image: ImageInfo & { readonly transparent?: boolean },
  stage = "final",
): Uint8Array {
  const shade = Number(Bun.hash(`${prompt}/${index}/${stage}`) % 256n);
  return encodeImage({ ...image, shade });
}

export function encodeImage(image: SolidImage): Uint8Array {
  const { format } = image;
  return format === "png" ? png(image) : format === "jpeg" ? jpeg(image) : webp(image);
}

function png({ width, height, shade, transparent }: SolidImage): Uint8Array {
  const chunk = (name: string, content: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(name), content]);
    const frame = Buffer.alloc(body.length + 8);
    frame.writeUInt32BE(content.length);
    body.copy(frame, 4);
    frame.writeUInt32BE(crc32(body), frame.length - 4);
    return frame;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([1, 3, 0, 0, 0], 8); // one bit per pixel into a palette of one
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("PLTE", Uint8Array.of(shade, shade, shade)),
    ...(transparent ? [chunk("tRNS", Uint8Array.of(0))] : []),
    chunk("IDAT", deflateSync(new Uint8Array((1 + Math.ceil(width / 8)) * height))),
    chunk("IEND", new Uint8Array()),
  ]);
}

function jpeg({ width, height, shade }: SolidImage): Uint8Array {
  // With quantizer 8 the first coefficient of a flat block is its level minus 128.
  const level = shade - 128;
  const size = level === 0 ? 0 : 32 - Math.clz32(Math.abs(level));
  const segment = (marker: number, ...content: number[]): number[] => {
    const length = content.length + 2;
    return [0xff, marker, length >> 8, length & 0xff, ...content];
  };
  // Two DC codes: "0" for no change, "10" for the first block. One AC code: "0" for end of block.
  const lengths = (...counts: number[]) => [
    ...counts,
    ...Array<number>(16 - counts.length).fill(0),
  ];
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  const first = level < 0 ? level + 2 ** size - 1 : level;
  const opening = size === 0 ? "00" : `10${first.toString(2).padStart(size, "0")}0`;
  const bits = opening + "00".repeat(blocks - 1);
  const packed = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1").match(/.{8}/g) ?? [];
  return Uint8Array.from([
    0xff,
    0xd8,
    ...segment(0xe0, 0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0),
    ...segment(0xdb, 0, ...Array<number>(64).fill(8)),
    ...segment(0xc0, 8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0),
    ...segment(0xc4, 0x00, ...lengths(1, 1), 0, size || 1),
    ...segment(0xc4, 0x10, ...lengths(1), 0),
    ...segment(0xda, 1, 1, 0, 0, 63, 0),
    ...packed.flatMap((byte) => (byte === "11111111" ? [0xff, 0] : [Number.parseInt(byte, 2)])),
    0xff,
    0xd9,
  ]);
}

function webp({ width, height, shade, transparent }: SolidImage): Uint8Array {
  // Lossless WebP where each channel has a one-symbol code: the pixels then take no bits at all.
  const little = (value: number, bits: number) =>
    value.toString(2).padStart(bits, "0").split("").reverse().join("");
  const channel = (symbol: number) => `101${little(symbol, 8)}`;
  const alpha = transparent ? 0 : 255;
  const bits = [
    little(width - 1, 14),
    little(height - 1, 14),
    transparent ? "1" : "0",
    "000", // version
    "000", // no transform, no color cache, no meta codes
    channel(shade), // green
    channel(shade), // red
    channel(shade), // blue
    channel(alpha),
    "1000", // distances: one symbol, 0
  ].join("");
  const packed = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0").match(/.{8}/g) ?? [];
  const pixels = [0x2f, ...packed.map((b) => Number.parseInt(b.split("").reverse().join(""), 2))];
  const padded = pixels.length % 2 ? [...pixels, 0] : pixels;
  const file = Buffer.alloc(20 + padded.length);
  file.write("RIFF");
  file.writeUInt32LE(12 + padded.length, 4);
  file.write("WEBPVP8L", 8);
  file.writeUInt32LE(pixels.length, 16);
  file.set(padded, 20);
  return file;
}
