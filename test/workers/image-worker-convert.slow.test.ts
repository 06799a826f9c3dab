/** A conversion changes the format and not the image. */
import { afterAll, describe, expect, test } from "bun:test";
import sharp, { type Sharp } from "sharp";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import type { ImageConversion } from "../../server/workers/image/messages.ts";
import {
  bytesIn,
  generated,
  inBytes,
  never,
  newRequestTemp,
  pixelsOf,
  speckled,
  speckledPng,
} from "./image-worker-fixture.ts";

const imageWorker = createImageWorker();
const temp = newRequestTemp();
afterAll(async () => {
  await imageWorker.close();
  await temp.clear();
});

const converted = async (image: Sharp | Uint8Array, to: ImageConversion): Promise<Uint8Array> => {
  const bytes = image instanceof Uint8Array ? image : await image.toBuffer();
  return bytesIn(await imageWorker.convert(inBytes(bytes), to, { signal: never, temp }));
};

/** The largest difference between two images, over all channels of all pixels. */
function distance(a: Uint8Array, b: Uint8Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

/** Large areas of one color, which lossy formats keep well. */
function patches(width: number, height: number): Uint8Array {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 3;
      pixels.set(x < width / 2 ? [200, 40, 40] : [30, 60, 190], at);
      if (y >= height / 2) pixels.set([90, 170, 70], at);
    }
  }
  return pixels;
}

describe("a conversion is lossless if the format can be, and no quality is requested", () => {
  for (const format of ["png", "webp"] as const) {
    for (const channels of [3, 4] as const) {
      test(`png of ${channels} channels to ${format}`, async () => {
        const pixels = speckled(61, 47, channels);
        const made = await converted(generated(pixels, 61, 47, channels).png(), { format });
        const found = await pixelsOf(made);
        expect([found.width, found.height, found.channels]).toEqual([61, 47, channels]);
        // The color of a fully transparent pixel may change.
        const same = pixels.every(
          (value, i) => found.pixels[i] === value || (channels === 4 && found.pixels[i | 3] === 0),
        );
        expect(same).toBeTrue();
      });
    }
  }
});

describe("every format converts to every other, with the same size and colors", () => {
  const [width, height] = [96, 64];
  const pixels = patches(width, height);
  const sources = {
    png: () => generated(pixels, width, height, 3).png(),
    jpeg: () => generated(pixels, width, height, 3).jpeg({ quality: 95 }),
    webp: () => generated(pixels, width, height, 3).webp({ lossless: true }),
    gif: () => generated(pixels, width, height, 3).gif(),
    avif: () => generated(pixels, width, height, 3).avif({ quality: 90, effort: 0 }),
  };
  for (const [from, make] of Object.entries(sources)) {
    test(`from ${from}`, async () => {
      const bytes = await make().toBuffer();
      for (const format of ["png", "jpeg", "webp", "gif", "avif"] as const) {
        const made = await converted(bytes, { format });
        const found = await sharp(made).metadata();
        expect([found.mediaType, found.width, found.height]).toEqual([
          `image/${format}`,
          width,
          height,
        ]);
        const middle = (x: number, y: number) =>
          sharp(made).removeAlpha().extract({ left: x, top: y, width: 1, height: 1 }).raw();
        expect(
          distance(await middle(20, 10).toBuffer(), new Uint8Array([200, 40, 40])),
        ).toBeLessThan(9);
        expect(
          distance(await middle(80, 10).toBuffer(), new Uint8Array([30, 60, 190])),
        ).toBeLessThan(9);
        expect(
          distance(await middle(40, 50).toBuffer(), new Uint8Array([90, 170, 70])),
        ).toBeLessThan(9);
      }
    });
  }
});

test("a lower quality makes a smaller file, all the way down to 0", async () => {
  const png = await speckledPng(128, 128, 3);
  for (const format of ["jpeg", "webp", "avif"] as const) {
    const sizes: number[] = [];
    for (const quality of [100, 80, 40, 0]) {
      sizes.push((await converted(png, { format, quality })).length);
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(4);
  }
});

describe("transparency", () => {
  const half = () => {
    const pixels = new Uint8Array(4 * 4 * 4);
    for (let i = 0; i < 16; i++) pixels.set(i < 8 ? [200, 0, 0, 0] : [10, 20, 30, 255], i * 4);
    return generated(pixels, 4, 4, 4).png();
  };

  test("becomes white if the image is flattened", async () => {
    const { pixels, channels } = await pixelsOf(
      await converted(half(), { format: "png", flatten: true }),
    );
    expect(channels).toBe(3);
    expect([...pixels.subarray(0, 3)]).toEqual([255, 255, 255]);
    expect([...pixels.subarray(-3)]).toEqual([10, 20, 30]);
  });

  test("becomes white if the format has none", async () => {
    const { pixels } = await pixelsOf(await converted(half(), { format: "jpeg" }));
    expect(distance(pixels.subarray(0, 3), new Uint8Array([255, 255, 255]))).toBeLessThan(3);
  });

  test("is kept in any other conversion", async () => {
    for (const format of ["png", "webp", "gif", "avif"] as const) {
      const { pixels, channels } = await pixelsOf(await converted(half(), { format }));
      expect(channels).toBe(4);
      expect([pixels[3], pixels.at(-1)]).toEqual([0, 255]);
    }
  });

  test("of a gray image of 16 bits becomes white as well if it is flattened", async () => {
    const gray = generated(new Uint8Array([7, 0, 7, 255]), 2, 1, 2)
      .toColourspace("grey16")
      .png();
    const { pixels } = await pixelsOf(await converted(gray, { format: "png", flatten: true }));
    expect([pixels[0], pixels.at(-1)]).toEqual([255, 7]);
  });
});

test("a photo with an EXIF orientation is rotated, and has no metadata any more", async () => {
  const pixels = patches(32, 16);
  const photo = generated(pixels, 32, 16, 3)
    .withExif({ IFD0: { Copyright: "someone", Software: "a camera" } })
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 100, chromaSubsampling: "4:4:4" });
  const made = await converted(photo, { format: "png" });
  const found = await sharp(made).metadata();
  expect([found.width, found.height]).toEqual([16, 32]);
  expect([found.exif, found.icc, found.orientation]).toEqual([undefined, undefined, undefined]);
  expect(Buffer.from(made).includes("someone")).toBeFalse();
  // The image was rotated clockwise: its lower half is on the left.
  const { pixels: turned } = await pixelsOf(made);
  expect(distance(turned.subarray(0, 3), new Uint8Array([90, 170, 70]))).toBeLessThan(6);
});

test("colors of another color space become the same colors in sRGB", async () => {
  const green = { create: { width: 8, height: 8, channels: 3, background: "#20a040" } } as const;
  const wide = await sharp(green).withIccProfile("p3").png().toBuffer();
  const stored = await sharp(wide, { ignoreIcc: true }).raw().toBuffer();
  expect(distance(stored.subarray(0, 3), new Uint8Array([0x20, 0xa0, 0x40]))).toBeGreaterThan(8);
  const { pixels } = await pixelsOf(await converted(wide, { format: "png" }));
  expect(distance(pixels.subarray(0, 3), new Uint8Array([0x20, 0xa0, 0x40]))).toBeLessThan(3);
});

test("CMYK becomes sRGB", async () => {
  const red = { create: { width: 8, height: 8, channels: 3, background: "#c82828" } } as const;
  const made = await converted(sharp(red).toColourspace("cmyk").jpeg({ quality: 100 }), {
    format: "png",
  });
  const { pixels, channels } = await pixelsOf(made);
  expect(channels).toBe(3);
  expect(distance(pixels.subarray(0, 3), new Uint8Array([200, 40, 40]))).toBeLessThan(32);
});

test("16 bits per channel become the same color in 8 bits", async () => {
  const deep = generated(new Uint8Array([0, 1, 127, 128, 254, 255]), 2, 1, 3)
    .toColourspace("rgb16")
    .png();
  const { pixels } = await pixelsOf(await converted(deep, { format: "png" }));
  expect([...pixels]).toEqual([0, 1, 127, 128, 254, 255]);
});

describe("an animation", () => {
  const frames = { width: 24, height: 48, channels: 4, pageHeight: 16 } as const;
  const animation = () => {
    const pixels = new Uint8Array(24 * 48 * 4);
    for (let i = 0; i < 24 * 48; i++) {
      pixels.set(
        [
          [255, 0, 0, 255],
          [0, 255, 0, 255],
          [0, 0, 255, 255],
        ][Math.floor(i / 384)]!,
        i * 4,
      );
    }
    return sharp(pixels, { raw: frames });
  };
  const delay = [70, 200, 400];

  test("stays animated if the format can be, at the same frame rate", async () => {
    for (const [source, format] of [
      [animation().gif({ delay }), "webp"],
      [animation().webp({ delay, lossless: true }), "gif"],
      [animation().gif({ delay }), "gif"],
    ] as const) {
      const found = await sharp(await converted(source, { format })).metadata();
      expect([found.pages, found.delay]).toEqual([3, delay]);
    }
  });

  test("becomes its first frame in other formats", async () => {
    for (const format of ["png", "jpeg", "avif"] as const) {
      const { pixels, height } = await pixelsOf(await converted(animation().gif(), { format }));
      expect(height).toBe(16);
      expect(distance(pixels.subarray(0, 3), new Uint8Array([255, 0, 0]))).toBeLessThan(9);
    }
  });
});
