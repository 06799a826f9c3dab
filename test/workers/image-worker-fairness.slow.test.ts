/** One key's costly images do not make another key wait: keys take turns, and images that take too long are refused. */

import { afterAll, describe, expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import { createTaskQueue } from "../../server/workers/task-queue.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway } from "../harness.ts";
import { until } from "../until.ts";
import {
  blackPng,
  chunk,
  expectError,
  generated,
  imageWorkers,
  jpegWithScans,
  never,
  speckled,
  speckledPng,
  upload,
} from "./image-worker-fixture.ts";

const start = imageWorkers();
const imageWorker = createImageWorker();
afterAll(() => imageWorker.close());

test("an edit of one key overtakes the costly edits of another", async () => {
  const fake = startFake();
  const keys = { heavy: "sk-heavy-0123456789abcdef", light: "sk-light-0123456789abcdef" };
  const gateway = startGateway({
    yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models: [{ id: m, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }]
keys: [{ name: heavy, key: ${keys.heavy} }, { name: light, key: ${keys.light} }]
`,
  });
  const done: string[] = [];
  const ended = new AbortController();
  const edit = async (name: keyof typeof keys, bytes: Uint8Array): Promise<void> => {
    const form = new FormData();
    form.set("model", "m");
    form.set("prompt", "a hat");
    form.set("image", new Blob([bytes as Uint8Array<ArrayBuffer>]), "a.jpg");
    const response = await fetch(`${gateway.baseURL}/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${keys[name]}` },
      body: form,
      signal: ended.signal,
    });
    await response.arrayBuffer();
    expect(response.status).toBe(200);
    done.push(name);
  };
  const costly = jpegWithScans(2048, 90);
  const heavy = Array.from({ length: 12 }, () => edit("heavy", costly));
  await until(() => gateway.inFlight() === 12);
  await edit("light", await speckledPng(8, 8));
  // Both processes were busy when the small image arrived, and it is served next. On a busy machine the other process
  // may end a costly image or two meanwhile; the order of the queue itself is tested below.
  expect(done.indexOf("light")).toBeLessThan(6);
  ended.abort();
  await Promise.allSettled(heavy);
  await gateway.close();
  fake.close();
});

describe("a file that takes far longer to decode than its size suggests is rejected before it is decoded", () => {
  test("a progressive JPEG of 1,100 scans", async () => {
    const file = upload(jpegWithScans(4096, 1100));
    expect(file.size).toBeLessThan(100_000);
    const message = /is a progressive JPEG with 1100 scans; at most 61 are allowed/;
    const error = await expectError(
      imageWorker.inspect(file, never),
      "invalid_image_file",
      message,
    );
    expect(error.details.param).toBe("image");
  });

  test("a JPEG with a few more scans than encoders write is accepted", async () => {
    const photo = generated(speckled(64, 48, 3), 64, 48, 3).jpeg({ progressive: true });
    for (const file of [jpegWithScans(64, 100), await photo.toBuffer()]) {
      expect((await imageWorker.inspect(upload(file), never)).width).toBe(64);
    }
  });

  test("scans are counted also if the bytes arrive in blocks, with restarts and fill bytes between", async () => {
    const [head, scan, end] = [jpegWithScans(64, 1), jpegWithScans(64, 2), jpegWithScans(64, 1)];
    const one = scan.subarray(head.length - 2, -2);
    const padded = Buffer.concat([Buffer.from([0xff, 0xff]), one]);
    const many = Buffer.concat([
      head.subarray(0, -2),
      ...new Array<Buffer>(5000).fill(padded),
      end.subarray(-2),
    ]);
    await expectError(imageWorker.inspect(upload(many), never), "invalid_image_file", /5001 scans/);
  });

  const small = Buffer.from(blackPng(8, 8));
  const pngWith = (...chunks: Buffer[]) =>
    Buffer.concat([small.subarray(0, 33), ...chunks, small.subarray(33)]);
  const packed = deflateSync(Buffer.alloc(7_000_000, "a"), { level: 9 });
  const bombs = {
    "texts of a PNG that unpack to megabytes": pngWith(
      ...new Array<Buffer>(5).fill(chunk("zTXt", Buffer.concat([Buffer.from("a\0\0"), packed]))),
    ),
    "the same in other letters": pngWith(
      ...new Array<Buffer>(5).fill(
        chunk("iTXt", Buffer.concat([Buffer.from("a\0\x01\0\0\0"), packed])),
      ),
    ),
    "the same without an end": pngWith(
      ...new Array<Buffer>(9).fill(
        chunk("zTXt", Buffer.concat([Buffer.from("a\0\0"), packed.subarray(0, -4)])),
      ),
    ),
    "a PNG in crumbs": pngWith(...new Array<Buffer>(250_001).fill(chunk("IDAT", Buffer.alloc(0)))),
    "a GIF of ten thousand frames and one": gifOf(10_001),
  };
  for (const [name, bytes] of Object.entries(bombs)) {
    test(name, async () => {
      const message = /unpack to more than 8 MB|more than 250000 chunks|more than 10000 frames/;
      await expectError(imageWorker.inspect(upload(bytes), never), "invalid_image_file", message);
    });
  }
});

test("a PNG with zeros behind its end is read, as by other decoders", async () => {
  const padded = Buffer.concat([blackPng(8, 8), Buffer.alloc(12 * 250_001)]);
  expect(await imageWorker.inspect(upload(padded), never)).toMatchObject({ width: 8, height: 8 });
});

/** A GIF animation of one pixel. */
function gifOf(frames: number): Uint8Array {
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  const head = [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255];
  return Buffer.concat([
    Buffer.from("GIF89a"),
    Buffer.from(head),
    ...new Array<Buffer>(frames).fill(frame),
    Buffer.from([0x3b]),
  ]);
}

test("an image that takes longer than its size allows is refused, and its process ended", async () => {
  const bounds: number[][] = [];
  const { worker, watcher } = start({
    inspectMs: (...message) => {
      bounds.push(message);
      return 20;
    },
  });
  const costly = upload(jpegWithScans(4096, 60));
  const expectedMessage =
    /could not be decoded within 0 seconds, which is far more than an image of its size/;
  await expectError(worker.inspect(costly, never), "invalid_image_file", expectedMessage);
  expect(bounds).toEqual([[4096 * 4096, costly.size]]);
  await until(() => watcher.living.size === 0);
});

describe("the queue of the image worker", () => {
  const start = (options: Partial<Parameters<typeof createTaskQueue>[0]> = {}) => {
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const turns = createTaskQueue({ maxRunning: 2, maxWaiting: 100, name: "It", ...options });
    const run = (key: string) =>
      turns.run({ signal: never, key }, () => {
        started.push(key);
        return new Promise<void>((end) => ends.push(end));
      });
    /** Ends the job that began first. */
    const endFirst = async (): Promise<void> => {
      await Bun.sleep(0);
      ends.shift()?.();
      await Bun.sleep(0);
    };
    return { run, endFirst, started };
  };
  const ignore = (promise: Promise<void>): void => void promise.catch(() => undefined);

  test("serves one key after the other, however many jobs each has queued", async () => {
    const { run, endFirst, started } = start({ maxRunning: 1 });
    for (let i = 0; i < 6; i++) ignore(run("many"));
    for (let i = 0; i < 2; i++) ignore(run("few"));
    for (let i = 0; i < 6; i++) await endFirst();
    expect(started).toEqual(["many", "many", "few", "many", "few", "many", "many"]);
  });

  test("lets a single key use all workers", async () => {
    const { run, endFirst, started } = start();
    for (let i = 0; i < 6; i++) ignore(run("one"));
    await endFirst();
    await endFirst();
    expect(started).toHaveLength(4);
  });

  test("when full refuses the newest job of the key with the most jobs", async () => {
    const { run } = start({ maxWaiting: 6 });
    const many = Array.from({ length: 8 }, () => run("many"));
    await expectError(run("many"), "overloaded", /full queue/);
    const few = [run("few"), run("few"), run("few")];
    await expectError(many[7] as Promise<void>, "overloaded", /full queue/);
    await expectError(many[6] as Promise<void>, "overloaded", /full queue/);
    await expectError(many[5] as Promise<void>, "overloaded", /full queue/);
    const refused = await Promise.race([...few, Bun.sleep(5)]);
    expect(refused).toBeUndefined();
  });
});
