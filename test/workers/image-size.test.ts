/** The dimensions of an image are read from its first bytes. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import sharp, { type Sharp } from "sharp";
import { imageSize } from "../../server/lib/sniff-image.ts";
import { tries } from "../depth.ts";

const width = 301;
const height = 117;

/** Of many colors, so that no encoder reduces it to a palette or to fewer channels. */
function canvas(channels: 3 | 4): Sharp {
  const pixels = new Uint8Array(width * height * channels).map((_, i) => (i * 7919) % 251);
  return sharp(pixels, { raw: { width, height, channels } });
}

const made: readonly (readonly [string, string, boolean | undefined, () => Sharp])[] = [
  ["png", "image/png", false, () => canvas(3).png()],
  ["png with alpha", "image/png", true, () => canvas(4).png()],
  ["png in gray", "image/png", false, () => canvas(3).greyscale().png()],
  ["png with a palette", "image/png", false, () => canvas(3).png({ palette: true })],
  ["png with a transparent palette", "image/png", true, () => canvas(4).png({ palette: true })],
  ["interlaced png", "image/png", true, () => canvas(4).png({ progressive: true })],
  ["png of 16 bits", "image/png", false, () => canvas(3).toColourspace("rgb16").png()],
  ["jpeg", "image/jpeg", false, () => canvas(3).jpeg()],
  ["progressive jpeg", "image/jpeg", false, () => canvas(3).jpeg({ progressive: true })],
  ["jpeg with a profile", "image/jpeg", false, () => canvas(3).withIccProfile("p3").jpeg()],
  ["cmyk jpeg", "image/jpeg", false, () => canvas(3).toColourspace("cmyk").jpeg()],
  ["webp", "image/webp", false, () => canvas(3).webp()],
  ["webp with alpha", "image/webp", true, () => canvas(4).webp()],
  ["lossless webp", "image/webp", false, () => canvas(3).webp({ lossless: true })],
  ["lossless webp with alpha", "image/webp", true, () => canvas(4).webp({ lossless: true })],
  ["webp with a profile", "image/webp", false, () => canvas(3).withIccProfile("p3").webp()],
  ["gif", "image/gif", undefined, () => canvas(3).gif()],
  ["avif", "image/avif", false, () => canvas(3).avif({ effort: 0 })],
  ["avif with alpha", "image/avif", true, () => canvas(4).avif({ effort: 0 })],
];

describe("size, type and transparency are read from the head of", () => {
  for (const [what, type, alpha, make] of made) {
    test(what, async () => {
      const bytes = await make().toBuffer();
      const { alpha: message, ...size } = imageSize(bytes.subarray(0, 64 * 1024)) ?? {};
      expect(size).toEqual({ type, width, height });
      if (alpha !== undefined) expect(message).toBe(alpha);
    });
  }
});

test("a gif shows whether one of its colors is transparent", async () => {
  const hole = new Uint8Array(16 * 16 * 4).map((_, i) => (i % 4 === 3 ? (i < 256 ? 0 : 255) : 90));
  const clear = await sharp(hole, { raw: { width: 16, height: 16, channels: 4 } })
    .gif()
    .toBuffer();
  expect(imageSize(clear)).toEqual({ type: "image/gif", width: 16, height: 16, alpha: true });
});

test("an edge may be as long as the format allows", async () => {
  const long = { create: { width: 16_383, height: 1, channels: 3, background: "#fff" } } as const;
  for (const lossless of [true, false]) {
    const wide = imageSize(await sharp(long).webp({ lossless }).toBuffer());
    expect([wide?.width, wide?.height]).toEqual([16_383, 1]);
    const high = imageSize(await sharp(long).rotate(90).webp({ lossless }).toBuffer());
    expect([high?.width, high?.height]).toEqual([1, 16_383]);
  }
});

test("a truncated head gives the right size or none", async () => {
  for (const [what, type, alpha, make] of made) {
    const bytes = await make().toBuffer();
    const until = Math.min(bytes.length, 4000);
    for (let length = 0; length < until; length += length < 700 ? 1 : 97) {
      const message = imageSize(bytes.subarray(0, length));
      if (!message) continue;
      expect(`${what}: ${message.type} ${message.width}x${message.height}`).toBe(
        `${what}: ${type} ${width}x${height}`,
      );
      if (alpha !== undefined) expect([alpha, undefined]).toContain(message.alpha);
    }
  }
});

test("random bytes neither throw nor take long", async () => {
  const heads = await Promise.all(made.map(([, , , make]) => make().toBuffer()));
  const mutated = fc.tuple(
    fc.constantFrom(...heads.map((head) => head.subarray(0, 512))),
    fc.array(fc.tuple(fc.nat(511), fc.nat(255)), { maxLength: 24 }),
  );
  fc.assert(
    fc.property(mutated, ([head, changes]) => {
      const bytes = new Uint8Array(head);
      for (const [at, value] of changes) if (at >= 12 && at < bytes.length) bytes[at] = value;
      const message = imageSize(bytes);
      return message === undefined || (message.width > 0 && message.height > 0);
    }),
    tries(2000),
  );
  expect(imageSize(Buffer.from("<html>"))).toBeUndefined();
  expect(imageSize(new Uint8Array())).toBeUndefined();
});
