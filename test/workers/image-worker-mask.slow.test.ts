/** A mask marks the same area in every convention. */
import { afterAll, expect, test } from "bun:test";
import sharp from "sharp";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import type { MaskConvention } from "../../server/workers/image/messages.ts";
import {
  bytesIn,
  type Channels,
  generated,
  inBytes,
  never,
  newRequestTemp,
  pixelsOf,
} from "./image-worker-fixture.ts";

const imageWorker = createImageWorker();
const temp = newRequestTemp();
afterAll(async () => {
  await imageWorker.close();
  await temp.clear();
});

const masked = async (mask: Uint8Array, to: MaskConvention): Promise<Uint8Array> =>
  bytesIn(await imageWorker.mask(inBytes(mask), to, { signal: never, temp }));

const [width, height] = [256, 3];
/** All 256 alpha values. */
const shades = new Uint8Array(width * height).map((_, i) => i % 256);

const png = (pixels: Uint8Array, channels: Channels): Promise<Buffer> =>
  generated(pixels, width, height, channels).png().toBuffer();

/** An image with the alpha values `shades` and arbitrary colors. */
const transparent = () =>
  png(
    new Uint8Array(shades.length * 4).map((_, i) =>
      i % 4 === 3 ? shades[i >> 2]! : (i * 37) % 256,
    ),
    4,
  );

const grayOf = async (made: Uint8Array) => {
  const { pixels, ...found } = await pixelsOf(made);
  expect([found.width, found.height]).toEqual([width, height]);
  return pixels.filter((_, i) => i % found.channels === 0);
};
const alphaOf = async (made: Uint8Array) => {
  const { pixels, channels } = await pixelsOf(made);
  expect(channels).toBe(4);
  return pixels.filter((_, i) => i % 4 === 3);
};
const inverse = (values: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  values.map((value) => 255 - value);

test("transparent pixels become white, and opaque pixels black", async () => {
  expect(await grayOf(await masked(await transparent(), "white"))).toEqual(inverse(shades));
});

test("transparent pixels become black, and opaque pixels white", async () => {
  expect(await grayOf(await masked(await transparent(), "black"))).toEqual(shades);
});

test("a round trip changes nothing", async () => {
  const white = await masked(await transparent(), "white");
  expect(await alphaOf(await masked(white, "transparent"))).toEqual(shades);
  expect(await alphaOf(await masked(await transparent(), "transparent"))).toEqual(shades);
});

test("in a mask without transparency the white area may change, however it is stored", async () => {
  const gray = await generated(shades, width, height, 1).toColourspace("b-w").png().toBuffer();
  const colors = await png(
    new Uint8Array(shades.length * 3).map((_, i) => shades[(i / 3) | 0]!),
    3,
  );
  const jpeg = await generated(shades, width, height, 1)
    .threshold(128)
    .jpeg({ quality: 100 })
    .toBuffer();
  for (const mask of [gray, colors]) {
    expect(await grayOf(await masked(mask, "white"))).toEqual(shades);
    expect(await grayOf(await masked(mask, "black"))).toEqual(inverse(shades));
    expect(await alphaOf(await masked(mask, "transparent"))).toEqual(inverse(shades));
  }
  const alpha = await alphaOf(await masked(jpeg, "transparent"));
  expect([alpha[0], alpha[255]]).toEqual([255, 0]);
});

test("gray with transparency, and a palette with transparency, are valid masks", async () => {
  const pairs = new Uint8Array(shades.length * 2).map((_, i) =>
    i % 2 === 1 ? shades[i >> 1]! : 9,
  );
  const gray = await generated(pairs, width, height, 2).toColourspace("b-w").png().toBuffer();
  expect(await grayOf(await masked(gray, "black"))).toEqual(shades);
  const holes = new Uint8Array(shades.length * 4).map((_, i) =>
    i % 4 === 3 && i > 1024 ? 255 : 0,
  );
  const palette = await generated(holes, width, height, 4).png({ palette: true }).toBuffer();
  const made = await grayOf(await masked(palette, "white"));
  expect([made[0], made.at(-1)]).toEqual([255, 0]);
});

test("a mask of 16 bits keeps its gray levels", async () => {
  const deep = Uint16Array.from({ length: shades.length * 4 }, (_, i) =>
    i % 4 === 3 ? shades[i >> 2]! * 257 : 9000,
  );
  const mask = await sharp(deep, { raw: { width, height, channels: 4 } })
    .toColourspace("rgb16")
    .png()
    .toBuffer();
  expect((await sharp(mask).metadata()).depth).toBe("ushort");
  expect(await grayOf(await masked(mask, "black"))).toEqual(shades);
  expect(await alphaOf(await masked(mask, "transparent"))).toEqual(shades);
});

test("a converted mask is a PNG, whatever its source format", async () => {
  for (const to of ["white", "black", "transparent"] as const) {
    const made = await masked(await transparent(), to);
    expect(Buffer.from(made.subarray(1, 4)).toString()).toBe("PNG");
  }
});
