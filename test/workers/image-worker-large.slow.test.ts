/** A large image is inspected as thoroughly as a small one, without ever being in memory as a whole. */

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import sharp from "sharp";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import { until } from "../until.ts";
import {
  type Channels,
  expectError,
  generated,
  imageWorkers,
  inBytes,
  never,
  speckled,
  upload,
  uploadOnDisk,
} from "./image-worker-fixture.ts";

const start = imageWorkers();
const imageWorker = createImageWorker();
afterAll(() => imageWorker.close());

async function inspectOnDisk(bytes: Uint8Array, worker = imageWorker) {
  const { part, close } = await uploadOnDisk(bytes);
  // If no other process can open the file, the bytes are sent: `part` cannot be read in this process.
  return worker.inspect(part.path === undefined ? upload(bytes) : part, never).finally(close);
}

/** Noise in every channel but the last, which is opaque. */
function covering(width: number, height: number, channels: Channels): Uint8Array {
  const pixels = speckled(width, height, channels);
  for (let at = channels - 1; at < pixels.length; at += channels) pixels[at] = 255;
  return pixels;
}

describe("a single pixel with alpha 254 of 255 is found", () => {
  const [width, height] = [2000, 1500];

  test("in a large image, wherever it is", async () => {
    const pixels = covering(width, height, 4);
    const made = () => generated(pixels, width, height, 4).png({ compressionLevel: 1 }).toBuffer();
    const full = await made();
    expect(await inspectOnDisk(full)).toMatchObject({ width, height, alpha: true, opaque: true });
    expect((await imageWorker.inspect(inBytes(full), never)).opaque).toBeTrue();
    let almost = full;
    for (const pixel of [0, width * 777 + 1234, width * height - 1]) {
      pixels[pixel * 4 + 3] = 254;
      almost = await made();
      pixels[pixel * 4 + 3] = 255;
      expect((await inspectOnDisk(almost)).opaque).toBeFalse();
    }
    expect((await imageWorker.inspect(inBytes(almost), never)).opaque).toBeFalse();
  });

  const kinds: Readonly<
    Record<string, (pixels: Uint8Array, channels: Channels) => Promise<Buffer>>
  > = {
    "an interlaced png": (pixels, channels) =>
      generated(pixels, 60, 50, channels).png({ progressive: true }).toBuffer(),
    "a png for print, of 300 pixels to the inch": (pixels, channels) =>
      generated(pixels, 60, 50, channels).withMetadata({ density: 300 }).png().toBuffer(),
    "a png with colors of another space": (pixels, channels) =>
      generated(pixels, 60, 50, channels).withIccProfile("p3").png().toBuffer(),
    "a png of 16 bits": (pixels, channels) =>
      generated(pixels, 60, 50, channels)
        .toColourspace(channels === 2 ? "grey16" : "rgb16")
        .png()
        .toBuffer(),
    "a webp": (pixels, channels) =>
      generated(pixels, 60, 50, channels).webp({ lossless: true, exact: true }).toBuffer(),
    "an animation, in its last frame": (pixels, channels) =>
      sharp(pixels, { raw: { width: 60, height: 50, channels, pageHeight: 10 } })
        .webp({ lossless: true, exact: true })
        .toBuffer(),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    for (const channels of [4, 2] as const) {
      test(`in ${kind}, ${channels === 4 ? "colored" : "gray"}`, async () => {
        const pixels = covering(60, 50, channels);
        expect((await inspectOnDisk(await make(pixels, channels))).opaque).toBeTrue();
        pixels[pixels.length - 1] = 254;
        expect((await inspectOnDisk(await make(pixels, channels))).opaque).toBeFalse();
      });
    }
  }
});

describe("a file on disk that is truncated or damaged is rejected", () => {
  const image = () => generated(speckled(120, 90, 3), 120, 90, 3);
  const kinds = {
    png: () => image().png(),
    jpeg: () => image().jpeg(),
    webp: () => image().webp({ lossless: true }),
    avif: () => image().avif({ effort: 0 }),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    test(`${kind}, wherever it is cut`, async () => {
      const whole = await make().toBuffer();
      expect((await inspectOnDisk(whole)).width).toBe(120);
      for (const length of [1, 13, 60, whole.length >> 1, whole.length - 40]) {
        const cut = whole.subarray(0, whole.length - length);
        await expectError(inspectOnDisk(cut), "invalid_image_file", /truncated/);
      }
    });
  }

  test("one wrong byte among the pixels of a large png, wherever it is", async () => {
    const whole = await generated(speckled(1500, 1000, 3), 1500, 1000, 3)
      .png({ compressionLevel: 1 })
      .toBuffer();
    expect((await inspectOnDisk(whole)).opaque).toBeTrue();
    for (const at of [5000, whole.length >> 1, whole.length - 5000]) {
      whole[at] = (whole[at] as number) ^ 1;
      await expectError(inspectOnDisk(whole), "invalid_image_file", /damaged or truncated/);
      whole[at] = (whole[at] as number) ^ 1;
    }
  });
});

test("a file that is not an image is not decoded from disk either, whatever its name", async () => {
  const tiff = await generated(speckled(8, 8, 3), 8, 8, 3)
    .tiff()
    .toBuffer();
  for (const bytes of [Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"), tiff]) {
    const inspection = inspectOnDisk(bytes);
    await expectError(inspection, "unsupported_file_mimetype", /is not a PNG/);
  }
});

const onLinux = process.platform === "linux";

test("a large image is never as a whole in the memory of the process that inspects it", async () => {
  if (!onLinux) return;
  const { worker, watcher } = start();
  const most = () => {
    const [child] = watcher.living;
    const status = readFileSync(`/proc/${child?.pid}/status`, "latin1");
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  for (const channels of [3, 4] as const) {
    const small = await generated(speckled(64, 64, channels), 64, 64, channels)
      .png()
      .toBuffer();
    await inspectOnDisk(small, worker);
    const before = most();
    // The file and its pixels have 64 MB each.
    const [width, height] = [4096, Math.floor(2 ** 26 / channels / 4096)];
    const large = await generated(speckled(width, height, channels), width, height, channels)
      .png({ compressionLevel: 0 })
      .toBuffer();
    expect((await inspectOnDisk(large, worker)).height).toBe(height);
    // The worker needs 10 to 20 MB. The whole file or all pixels would need 64 MB.
    expect(most() - before).toBeLessThan(48);
  }
});

describe("large images", () => {
  const large = () =>
    generated(speckled(2000, 1500, 3), 2000, 1500, 3)
      .png({ compressionLevel: 0 })
      .toBuffer();
  const small = () =>
    generated(speckled(16, 16, 3), 16, 16, 3)
      .png()
      .toBuffer();

  test("are processed one at a time", async () => {
    const { worker, watcher } = start();
    const bytes = await large();
    const inspections = await Promise.all(
      Array.from({ length: 5 }, () => inspectOnDisk(bytes, worker)),
    );
    expect(inspections.map(({ width }) => width)).toEqual([2000, 2000, 2000, 2000, 2000]);
    expect(watcher.most).toEqual({ processes: 1, jobs: 1 });
  });

  test("do not block small ones, and queued large images are processed eventually", async () => {
    const { worker, watcher } = start({ lost: 1 });
    const [bytes, few] = [await large(), await small()];
    const stuck = new AbortController();
    const first = worker.inspect(inBytes(bytes), stuck.signal);
    let served = false;
    const second = inspectOnDisk(bytes, worker).then((looked) => {
      served = true;
      return looked;
    });
    await until(() => watcher.requests.length === 1);
    for (let i = 0; i < 3; i++) expect((await inspectOnDisk(few, worker)).width).toBe(16);
    expect(served).toBeFalse();
    stuck.abort();
    await expectError(first, "client_closed", /closed the connection/);
    expect((await second).width).toBe(2000);
  });

  test("that are queued count toward the queue limit, and leave the queue when their client disconnects", async () => {
    const { worker, watcher } = start({ maxWaiting: 1, lost: 1 });
    const bytes = await large();
    const [first, second] = [new AbortController(), new AbortController()];
    const stuck = worker.inspect(inBytes(bytes), first.signal);
    await until(() => watcher.requests.length === 1);
    const waiting = worker.inspect(inBytes(bytes), second.signal);
    await expectError(worker.inspect(inBytes(bytes), never), "overloaded", /full queue/);
    second.abort();
    await expectError(waiting, "client_closed", /closed the connection/);
    const next = inspectOnDisk(bytes, worker);
    first.abort();
    await expectError(stuck, "client_closed", /closed the connection/);
    expect((await next).width).toBe(2000);
  });
});
