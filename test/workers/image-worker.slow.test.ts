/** Images are decoded in a child process: untrusted files cannot harm the gateway. */

import { afterAll, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import { until } from "../until.ts";
import {
  blackPng,
  expectError,
  generated,
  imageWorkers,
  inBytes,
  never,
  speckled,
  speckledPng,
  upload,
  uploadOnDisk,
} from "./image-worker-fixture.ts";

const start = imageWorkers();
const imageWorker = createImageWorker();
afterAll(() => imageWorker.close());

test("an inspection returns type, size, transparency and pages", async () => {
  const clear = await imageWorker.inspect(upload(await speckledPng(31, 17)), never);
  expect(clear).toEqual({
    type: "image/png",
    width: 31,
    height: 17,
    alpha: true,
    alphaChannel: true,
    opaque: false,
    pages: 1,
    orientation: 1,
  });
  const photo = await generated(speckled(40, 20, 3), 40, 20, 3)
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const turned = await imageWorker.inspect(upload(photo), never);
  expect([turned.type, turned.width, turned.height, turned.alpha, turned.orientation]).toEqual([
    "image/jpeg",
    20,
    40,
    false,
    6,
  ]);
  const frames = { width: 8, height: 24, channels: 4, pageHeight: 8 } as const;
  const moving = await sharp(speckled(8, 24, 4), { raw: frames })
    .gif()
    .toBuffer();
  const { width, height, pages } = await imageWorker.inspect(upload(moving), never);
  expect([width, height, pages]).toEqual([8, 8, 3]);
});

test("an image whose every pixel is opaque is reported as opaque", async () => {
  const full = speckled(16, 16, 4).map((value, i) => (i % 4 === 3 ? 255 : value));
  const opaque = await generated(full, 16, 16, 4).png().toBuffer();
  expect(await imageWorker.inspect(upload(opaque), never)).toMatchObject({
    alpha: true,
    opaque: true,
  });
  full[16 * 16 * 4 - 1] = 254;
  const almost = await generated(full, 16, 16, 4).png().toBuffer();
  expect((await imageWorker.inspect(upload(almost), never)).opaque).toBeFalse();
});

describe("a decompression bomb is rejected without being decoded", () => {
  for (const [width, height] of [
    [30_000, 30_000],
    [8001, 8000],
  ] as const) {
    test(`${width}x${height}`, async () => {
      const bomb = blackPng(width, height);
      expect(bomb.length).toBeLessThan(200_000);
      const message = new RegExp(`has ${width}x${height} pixels, and at most 64 million`);
      const error = await expectError(
        imageWorker.inspect(upload(bomb), never),
        "invalid_image_file",
        message,
      );
      expect(error.details.param).toBe("image");
    });
  }

  test("an image of the maximum size is accepted", async () => {
    const { width, height } = await imageWorker.inspect(upload(blackPng(8000, 8000)), never);
    expect([width, height]).toEqual([8000, 8000]);
  });

  test("an animation counts with all its frames", async () => {
    const { worker: small } = start({ maxPixels: 500 });
    const frames = { width: 16, height: 48, channels: 3, pageHeight: 16 } as const;
    const animation = await sharp(speckled(16, 48, 3), { raw: frames })
      .gif()
      .toBuffer();
    const inspection = small.inspect(upload(animation), never);
    await expectError(inspection, "invalid_image_file", /has more than \d+(\.\d+)? million pixels/);
  });
});

describe("a truncated file is rejected, wherever it is cut", () => {
  const image = () => generated(speckled(120, 90, 3), 120, 90, 3);
  const kinds = {
    png: () => image().png(),
    "interlaced png": () => image().png({ progressive: true }),
    jpeg: () => image().jpeg(),
    "progressive jpeg": () => image().jpeg({ progressive: true }),
    webp: () => image().webp(),
    "lossless webp": () => image().webp({ lossless: true }),
    avif: () => image().avif({ effort: 0 }),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    test(kind, async () => {
      const whole = await make().toBuffer();
      await imageWorker.inspect(upload(whole), never);
      for (const length of [1, 2, 9, 13, 60, whole.length >> 1, whole.length - 40]) {
        const cut = whole.subarray(0, whole.length - length);
        const error = await expectError(
          imageWorker.inspect(upload(cut), never),
          "invalid_image_file",
          /truncated/,
        );
        expect(error.details.param).toBe("image");
      }
    });
  }
});

test("a damaged image of the client is a client error, one of an upstream an upstream error", async () => {
  const whole = await speckledPng(64, 64);
  const cut = whole.subarray(0, whole.length >> 1);
  await expectError(imageWorker.inspect(upload(cut), never), "invalid_image_file", /'image'/);
  await expectError(imageWorker.inspect(inBytes(cut), never), "upstream_invalid", /not usable/);
  const requested = imageWorker.inspect(inBytes(cut), never, "images[1].image_url");
  const error = await expectError(requested, "invalid_image_file", /'images\[1\].image_url'/);
  expect(error.details.param).toBe("images[1].image_url");
});

test("a file that is not an image is not decoded", async () => {
  for (const text of ["<html>", "<svg xmlns='http://www.w3.org/2000/svg'/>", "%PDF-1.7", "II*\0"]) {
    const file = upload(Buffer.from(text));
    await expectError(
      imageWorker.inspect(file, never),
      "unsupported_file_mimetype",
      /is not a PNG/,
    );
  }
});

test("a file above the limit is rejected before it is read", async () => {
  const { worker: small } = start({ maxBytes: 100 });
  const { part, close } = await uploadOnDisk(await speckledPng(64, 64));
  await expectError(small.inspect(part, never), "request_too_large", /100 bytes/);
  await close();
});

test("a process that dies during a job fails that request, and the next request works", async () => {
  const { worker, watcher } = start({ lost: 1 });
  const image = upload(await speckledPng(16, 16));
  const inspection = worker.inspect(image, never);
  await until(() => watcher.requests.length === 1);
  for (const child of watcher.living) child.kill();
  const error = await expectError(inspection, "overloaded", /SIGKILL/);
  expect(error.message).toContain("ended before it had processed the image");
  expect((await worker.inspect(image, never)).width).toBe(16);
});

test("a job that exceeds its timeout is canceled, and its process is replaced", async () => {
  const { worker, watcher } = start({ taskMs: 1500, lost: 1 });
  const image = upload(await speckledPng(16, 16));
  await expectError(worker.inspect(image, never), "invalid_image_file", /within 1.5 seconds/);
  await until(() => watcher.living.size === 0);
  expect((await worker.inspect(image, never)).width).toBe(16);
});

test("a client that disconnects frees its worker at once", async () => {
  const { worker, watcher } = start({ lost: 2 });
  const image = upload(await speckledPng(16, 16));
  const controllers = [new AbortController(), new AbortController()] as const;
  const stuck = controllers.map(({ signal }) => worker.inspect(image, signal));
  await until(() => watcher.requests.length === 2);
  let served = false;
  const third = worker.inspect(image, never).then(() => {
    served = true;
  });
  await Bun.sleep(0);
  expect(watcher.requests).toHaveLength(2);
  expect(served).toBeFalse();
  controllers[1].abort(new GatewayError("client_closed", "gone"));
  await expectError(stuck[1] as Promise<unknown>, "client_closed", /gone/);
  await third;
  controllers[0].abort();
  await expectError(stuck[0] as Promise<unknown>, "client_closed", /closed the connection/);
});

test("a client that disconnects while queued is never processed", async () => {
  const { worker, watcher } = start({ maxRunning: 1, lost: 1 });
  const image = upload(await speckledPng(16, 16));
  const [first, second] = [new AbortController(), new AbortController()];
  const stuck = worker.inspect(image, first.signal);
  const waiting = worker.inspect(image, second.signal);
  await until(() => watcher.requests.length === 1);
  second.abort();
  await expectError(waiting, "client_closed", /closed the connection/);
  first.abort();
  await expectError(stuck, "client_closed", /closed the connection/);
  expect((await worker.inspect(image, never)).width).toBe(16);
  expect(watcher.requests).toHaveLength(2);
});

test("sixteen concurrent conversions run two at a time", async () => {
  const { worker, watcher, temp } = start();
  const png = inBytes(await speckledPng(200, 200, 3));
  const made = await Promise.all(
    Array.from({ length: 16 }, () =>
      worker.convert(png, { format: "webp" }, { signal: never, temp }),
    ),
  );
  expect(made).toHaveLength(16);
  expect(watcher.requests).toHaveLength(16);
  expect(watcher.most).toEqual({ processes: 2, jobs: 2 });
});

test("jobs beyond the queue limit are shed at once, with a Retry-After", async () => {
  const { worker } = start({ maxWaiting: 3, lost: 2 });
  const image = upload(await speckledPng(16, 16));
  const { signal, abort } = abortable();
  const jobs = Array.from({ length: 5 }, () => worker.inspect(image, signal));
  const error = await expectError(worker.inspect(image, never), "overloaded", /full queue/);
  expect(error.details.retryAfterMs).toBeGreaterThan(0);
  abort();
  for (const job of jobs) await expectError(job, "client_closed", /closed the connection/);
});

test("an idle process ends", async () => {
  const { worker, watcher } = start({ idleMs: 20 });
  await worker.inspect(upload(await speckledPng(16, 16)), never);
  await until(() => watcher.living.size === 0);
});

test("a closed image worker accepts no more images", async () => {
  const { worker } = start();
  await worker.close();
  const image = upload(await speckledPng(16, 16));
  await expectError(worker.inspect(image, never), "shutting_down", /closed/);
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
