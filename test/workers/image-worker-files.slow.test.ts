/** Large images bypass the gateway's memory: the worker reads and writes their files. */

import { describe, expect, test } from "bun:test";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { UnlinkedTempFile } from "../../server/temp-storage/unlinked-temp-file.ts";
import type { UpstreamResponse } from "../../server/upstream/adapter.ts";
import { readDocument } from "../../server/upstream/adapters/wire/document.ts";
import { imageContentIn } from "../../server/upstream/adapters/wire/image-list.ts";
import { toFilePart } from "../../server/workers/image/file-part.ts";
import { readAll } from "../chunks.ts";
import { until } from "../until.ts";
import {
  bytesIn,
  expectError,
  folder,
  imageWorkers,
  inBytes,
  never,
  pixelsOf,
  speckled,
  speckledPng,
  upload,
  uploadOnDisk,
  type watched,
} from "./image-worker-fixture.ts";

const start = imageWorkers();

/** The number of image bytes that were sent to a process. */
const carried = (requests: ReturnType<typeof watched>["requests"]): number =>
  requests.reduce((sum, { image }) => sum + (image.kind === "bytes" ? image.bytes.length : 0), 0);

/** An upstream's JSON response with base64 images, split at any byte. */
function response(json: string): Pick<UpstreamResponse, "chunks"> {
  const bytes = Buffer.from(json);
  return {
    chunks: async function* () {
      for (let at = 0; at < bytes.length; at += 10_007) yield bytes.subarray(at, at + 10_007);
    },
  };
}

describe("on Linux", () => {
  const onLinux = process.platform === "linux";

  test("an upload on disk is inspected and converted without being read by the gateway", async () => {
    const { worker, watcher, temp } = start();
    const pixels = speckled(400, 300, 4);
    const { part, close } = await uploadOnDisk(await speckledPng(400, 300));
    if (onLinux) {
      expect((await worker.inspect(part, never)).width).toBe(400);
      const made = await worker.convert(part, { format: "png" }, { signal: never, temp });
      expect(made.kind).toBe("spilled");
      expect((await pixelsOf(await bytesIn(made))).pixels).toEqual(pixels);
      expect(carried(watcher.requests)).toBe(0);
    }
    await close();
  });

  test("an image in the base64 of an upstream response is decoded in the worker", async () => {
    const { worker, watcher, temp } = start();
    const [first, second] = [await speckledPng(300, 301), await speckledPng(301, 300)];
    const json = JSON.stringify({
      data: [
        { b64_json: first.toString("base64") },
        { b64_json: `data:image/png;base64,${second.toString("base64")}` },
      ],
    });
    const read = await readDocument(response(json) as UpstreamResponse, temp);
    const { data } = read as { readonly data: readonly { readonly b64_json: unknown }[] };
    for (const [at, [width, height]] of [[300, 301] as const, [301, 300] as const].entries()) {
      const image = imageContentIn(data[at]?.b64_json);
      if (image?.kind !== "spilled") throw new Error("The image was not spilled.");
      const made = await worker.convert(image, { format: "webp" }, { signal: never, temp });
      const found = await pixelsOf(await bytesIn(made));
      expect([found.width, found.height]).toEqual([width, height]);
      expect(found.pixels[4 * 77 + 1]).toBe(speckled(width, height, 4)[4 * 77 + 1]!);
    }
    if (onLinux) expect(carried(watcher.requests)).toBe(0);
  });

  test("a large image in memory is sent through a file, a small one in the message", async () => {
    const { worker, watcher, temp } = start();
    const small = await speckledPng(20, 20);
    await worker.convert(inBytes(small), { format: "jpeg" }, { signal: never, temp });
    expect(carried(watcher.requests)).toBe(small.length);
    const large = await speckledPng(400, 400);
    const base64 = { kind: "base64", base64: large.toString("base64") } as const;
    await worker.convert(base64, { format: "jpeg" }, { signal: never, temp });
    if (onLinux) expect(carried(watcher.requests)).toBe(small.length);
  });
});

test("if processes cannot open each other's files, bytes are sent, and the result is the same", async () => {
  const { worker, temp } = start({ byPath: false });
  const png = await speckledPng(500, 400, 3);
  const made = await worker.convert(upload(png), { format: "png" }, { signal: never, temp });
  expect(made.kind).toBe("bytes");
  expect((await pixelsOf(await bytesIn(made))).pixels).toEqual(speckled(500, 400, 3));
});

const keepOpen = () => () => undefined;

test("that processes cannot open each other's files is detected once, and fails no request", async () => {
  const { worker, watcher, temp } = start();
  const away = { ...upload(await speckledPng(500, 400, 3)), path: "/proc/1/fd/nowhere", keepOpen };
  for (let i = 0; i < 2; i++) {
    const made = await worker.convert(away, { format: "png" }, { signal: never, temp });
    expect((await pixelsOf(await bytesIn(made))).width).toBe(500);
  }
  expect(watcher.requests.map(({ image }) => image.kind)).toEqual(["file", "bytes", "bytes"]);
});

test("one image whose file is gone does not disable file paths for other images", async () => {
  const { worker, watcher } = start();
  const gone = {
    ...upload(await speckledPng(16, 16)),
    path: "/proc/1/fd/nowhere",
    keepOpen,
    bytes: async () => {
      throw new Error("The file is closed.");
    },
  };
  await expect(worker.inspect(gone, never)).rejects.toThrow("The file is closed.");
  const { part, close } = await uploadOnDisk(await speckledPng(16, 16));
  if (part.path) await worker.inspect(part, never);
  expect(carried(watcher.requests)).toBe(0);
  await close();
});

test("a full disk has its own error, not an error about the image", async () => {
  const { worker } = start();
  const full = {
    ...noRequestTemp,
    file: async () => {
      throw new Error("ENOSPC");
    },
  };
  const image = upload(await speckledPng(16, 16));
  const converting = worker.convert(image, { format: "jpeg" }, { signal: never, temp: full });
  await expectError(converting, "storage_unavailable", /could not be written/);
});

test("a file that another process reads stays open until it is released", async () => {
  const file = await UnlinkedTempFile.create(folder);
  file.append(Buffer.from("before"));
  const back = file.keepOpen();
  let closed = false;
  const closing = file.close().then(() => {
    closed = true;
  });
  expect(Buffer.from(await file.read(0, 6)).toString()).toBe("before");
  expect(closed).toBeFalse();
  back();
  await closing;
  await expect(file.read(0, 6)).rejects.toThrow();
});

test("the descriptor of a closed file cannot be shared, because its path may lead to the file of another request", async () => {
  const file = await UnlinkedTempFile.create(folder);
  const closing = file.close();
  expect(() => file.keepOpen()).toThrow("closed");
  await closing;
  expect(() => file.keepOpen()).toThrow("closed");
});

test("an upload whose request ends while the image worker reads it is not confused with another upload", async () => {
  const { worker, watcher } = start();
  const { part, close } = await uploadOnDisk(await speckledPng(40, 30));
  const inspecting = worker.inspect(part, never);
  // The worker has the path of the file, and is still starting.
  await until(() => watcher.requests.length === 1);
  const closing = close();
  const others = await Promise.all(
    Array.from({ length: 8 }, async () => uploadOnDisk(await speckledPng(50, 60))),
  );
  const { width, height } = await inspecting;
  expect([width, height]).toEqual([40, 30]);
  await closing;
  await Promise.all(others.map((other) => other.close()));
});

test("the converted image replaces the upload", async () => {
  const { worker, temp } = start();
  for (const size of [20, 400]) {
    const file = upload(await speckledPng(size, size), "image[2]", "my.holiday.PNG");
    const made = await worker.convert(file, { format: "webp" }, { signal: never, temp });
    const part = toFilePart(made, file, "image/webp");
    expect([part.field, part.filename, part.type]).toEqual([
      "image[2]",
      "my.holiday.webp",
      "image/webp",
    ]);
    for (let again = 0; again < 2; again++) {
      const streamed = await readAll(part.stream());
      expect(new Uint8Array(streamed)).toEqual(new Uint8Array(await part.bytes()));
      expect(part.size).toBe(streamed.length);
    }
    expect((await worker.inspect(part, never)).width).toBe(size);
  }
});
