/** Uploads are streamed through the gateway: with little memory, and with nothing left on disk, however they end. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { closeAfterAll } from "../clean-up.ts";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  startGateway,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { until } from "../until.ts";
import {
  bearer,
  chunk,
  formOf,
  openTempFiles,
  png,
  RawConnection,
  toHttpText,
} from "./gateway-fixture.ts";

const megabyte = 1024 * 1024;
/** Five of them are twice the memory that they may take. */
const fileBytes = 25 * 1_000_000;
const mostGrowth = 64;

const sha256 = (...blocks: readonly Uint8Array[]): string => {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const block of blocks) hasher.update(block);
  return hasher.digest("hex");
};

interface Received {
  readonly head: string;
  readonly sha256: string;
  readonly lengthAnnounced: boolean;
}

/** Reads a whole edit request and keeps only the head and a hash of its last file. */
function startSink() {
  const received: Received[] = [];
  let slow = false;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: async (request) => {
      const type = request.headers.get("content-type") ?? "";
      const length = Number(request.headers.get("content-length") ?? Number.NaN);
      const tail = `\r\n--${type.split("boundary=")[1]}--\r\n`.length;
      const [from, to] = [length - tail - fileBytes, length - tail];
      const hasher = new Bun.CryptoHasher("sha256");
      let head = "";
      let at = 0;
      for await (const block of request.body ?? []) {
        head += Buffer.from(block.subarray(0, Math.max(0, from - at))).toString("latin1");
        hasher.update(block.subarray(Math.max(0, from - at), Math.max(0, to - at)));
        at += block.length;
        if (slow && at < 4_000_000) await Bun.sleep(2);
      }
      received.push({ head, sha256: hasher.digest("hex"), lengthAnnounced: at === length });
      return Response.json({
        created: 1,
        data: [{ b64_json: Buffer.from(png).toString("base64") }],
      });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    received,
    takeTime: (whether: boolean) => {
      slow = whether;
    },
    close: () => server.stop(true),
  };
}

const folder = temporaryFolder();
const dataFolder = join(folder.path, "data");
const tempFolder = join(dataFolder, "temp");
let sink: ReturnType<typeof startSink>;
let gateway: GatewayProcess;
const start = () => startProcess({ folder: folder.path, yaml: configFor(sink.url) });

beforeAll(async () => {
  sink = startSink();
  // As a process that was killed would have left it, had its files had names.
  mkdirSync(join(tempFolder, "a-folder"), { recursive: true });
  writeFileSync(join(tempFolder, "upload-1"), "left over");
  gateway = await start();
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  sink.close();
  folder[Symbol.dispose]();
});

const boundary = "----upload-0123456789";
const field = (name: string, value: string) =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const opening =
  field("model", "gpt-image-2") +
  field("prompt", "a hat") +
  `--${boundary}\r\ncontent-disposition: form-data; name="image"; filename="a.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`;
const closing = `\r\n--${boundary}--\r\n`;
const filler = crypto.getRandomValues(new Uint8Array(65_536));

/** An image by its first bytes, different for each `seed`. */
function* image(seed: number, bytes = fileBytes): Generator<Uint8Array> {
  const start = Buffer.concat([png, Buffer.alloc(24, seed)]);
  yield start;
  for (let left = bytes - start.length; left > 0; left -= filler.length)
    yield filler.subarray(0, left);
}

async function begin(): Promise<RawConnection> {
  const connection = await RawConnection.open(gateway.url);
  unfinished.push(connection);
  const headers = {
    ...bearer,
    "content-type": `multipart/form-data; boundary=${boundary}`,
    "transfer-encoding": "chunked",
  };
  connection.send(
    toHttpText({ method: "POST", path: "/v1/images/edits", headers }),
    chunk(opening),
  );
  return connection;
}

/** Sends the first 5 MB of an image. Returns how many bytes were sent. */
async function sendStart(connection: RawConnection, seed: number): Promise<number> {
  let sent = 0;
  for (const block of image(seed)) {
    await connection.sendAll(chunk(block));
    sent += block.length;
    if (sent > 5_000_000) break;
  }
  return sent;
}

async function upload(seed: number, bytes = fileBytes): Promise<number> {
  const connection = await begin();
  for (const block of image(seed, bytes)) await connection.sendAll(chunk(block));
  connection.send(chunk(closing), "0\r\n\r\n");
  const { status } = await connection.response({ ms: 25_000 });
  connection.disconnect();
  return status;
}

/** Resident memory in megabytes. */
const memory = (which: "VmRSS" | "VmHWM"): number => {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return (Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / megabyte;
};

const openUploads = (): string[] => openTempFiles(dataFolder, gateway.pid);
const unfinished: RawConnection[] = [];
afterEach(async () => {
  for (const connection of unfinished.splice(0)) connection.disconnect();
  await until(() => openUploads().length === 0);
  expect(readdirSync(tempFolder)).toEqual([]);
});

test("files that an earlier process left in the temp folder are removed at start", () => {
  expect(readdirSync(tempFolder)).toEqual([]);
});

describe("five uploads of 25 MB at once, without a length", () => {
  test("arrive to the last byte, and take at most 64 MB of memory", async () => {
    const warm = formOf(["model", "gpt-image-2"], ["prompt", "a hat"], ["image", png]);
    await fetch(`${gateway.url}/v1/images/edits`, { method: "POST", headers: bearer, body: warm });
    // Resets the peak of the startup, which is not measured here.
    writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
    const before = memory("VmRSS");
    sink.received.length = 0;
    const seeds = [1, 2, 3, 4, 5];
    const statuses = await Promise.all(seeds.map((seed) => upload(seed)));
    const growth = memory("VmHWM") - before;
    expect(statuses).toEqual(seeds.map(() => 200));
    expect(sink.received.map((each) => each.sha256).sort()).toEqual(
      seeds.map((seed) => sha256(...image(seed))).sort(),
    );
    for (const { head, lengthAnnounced } of sink.received) {
      expect(head).toContain('name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n');
      expect(head).not.toContain("octet-stream");
      expect(lengthAnnounced).toBe(true);
    }
    expect(growth).toBeLessThan(mostGrowth);
  });

  test("arrive to the last byte also if the upstream reads slowly", async () => {
    sink.received.length = 0;
    sink.takeTime(true);
    const status = await upload(11);
    sink.takeTime(false);
    expect(status).toBe(200);
    expect(sink.received.map((each) => each.sha256)).toEqual([sha256(...image(11))]);
  });

  test("leave nothing on disk if their clients disconnect", async () => {
    sink.received.length = 0;
    const connections = await Promise.all(Array.from({ length: 5 }, begin));
    for (const [seed, connection] of connections.entries()) await sendStart(connection, seed);
    await until(() => openUploads().length === 5);
    // Unlinked files have no name, so nothing is left of them after a kill.
    await until(() => readdirSync(tempFolder).length === 0);
    for (const connection of connections) connection.disconnect();
    await until(() => openUploads().length === 0);
    expect(sink.received).toEqual([]);
  });

  test("leave nothing on disk if the process is killed", async () => {
    const connections = await Promise.all([begin(), begin()]);
    for (const connection of connections) await sendStart(connection, 0);
    await until(() => openUploads().length === 2 && readdirSync(tempFolder).length === 0);
    gateway.kill("SIGKILL");
    await gateway.exited;
    expect(readdirSync(tempFolder)).toEqual([]);
    gateway = await start();
    expect(await upload(1, megabyte)).toBe(200);
  });

  test("are not removed by a second gateway that starts in the same folder by mistake", async () => {
    const connection = await begin();
    const sent = await sendStart(connection, 7);
    await until(() => openUploads().length === 1);
    await expect(start()).rejects.toThrow("Another gateway is running");
    sink.received.length = 0;
    for (let left = 6 * megabyte - sent; left > 0; left -= filler.length) {
      await connection.sendAll(chunk(filler.subarray(0, left)));
    }
    connection.send(chunk(closing), "0\r\n\r\n");
    expect((await connection.response({ ms: 20_000 })).status).toBe(200);
    expect(sink.received).toHaveLength(1);
    connection.disconnect();
  });
});

describe("every file of a form reaches the upstream byte for byte, with the type of its bytes", () => {
  const fake = startFake();
  const other = startGateway({ yaml: configFor(fake.url) });
  closeAfterAll(other, fake);

  const generated = (format: "png" | "jpeg" | "webp", extra: number): Uint8Array<ArrayBuffer> => {
    const bytes = encodeImage({ format, width: 64, height: 64, shade: extra % 256 });
    return new Uint8Array(Buffer.concat([bytes, Buffer.alloc(extra, 0x5a)]));
  };
  const send = (form: FormData) =>
    fetch(`${other.url}/v1/images/edits`, { method: "POST", headers: bearer, body: form });

  const clear = () =>
    sharp({ create: { width: 64, height: 64, channels: 4, background: "#0000" } })
      .png()
      .toBuffer();

  // Around the size at which a file goes to disk.
  const kept = 256 * 1024;
  test.each([0, 1, 60_000, kept - 1, kept, kept + 1, kept + 65_537, 3_000_000])(
    "also if %d bytes follow the end of the image",
    async (extra) => {
      fake.clear();
      const files = [generated("png", extra), generated("jpeg", extra), generated("webp", extra)];
      const mask = new Uint8Array(Buffer.concat([await clear(), Buffer.alloc(extra + 3, 0x5a)]));
      const form = new FormData();
      form.append("mask", new Blob([mask], { type: "text/plain" }), "mask.txt");
      form.append("prompt", "a hat");
      // The content type that the client sends for a file is ignored.
      for (const file of files)
        form.append("image[]", new File([file], "x.gif", { type: "image/gif" }));
      form.append("model", "image-model");
      const response = await send(form);
      expect(response.status, await response.text()).toBe(200);
      const parts = fake.requests[0]?.form ?? [];
      const sent = parts.filter(({ filename }) => filename !== undefined);
      expect(sent.map(({ field: name, type, sha256: hash }) => [name, type, hash])).toEqual([
        ["image[]", "image/png", sha256(files[0]!)],
        ["image[]", "image/jpeg", sha256(files[1]!)],
        ["image[]", "image/webp", sha256(files[2]!)],
        ["mask", "image/png", sha256(mask)],
      ]);
    },
  );

  test("every file is sent again, to the next target, when the first one fails", async () => {
    fake.clear();
    fake.script({ fail: "overloaded" });
    other.reload(
      configFor(fake.url).replace(
        "targets: [{ upstream: fake, model: gpt-image-1.5 }]",
        "targets: [{ upstream: fake, model: gpt-image-1.5 }, { upstream: fake, model: gpt-image-2 }]",
      ),
    );
    const file = generated("png", 2_000_000);
    const form = formOf(["model", "image-model"], ["prompt", "a hat"], ["image", file]);
    const response = await send(form);
    expect(response.status, await response.text()).toBe(200);
    expect(fake.requests).toHaveLength(2);
    for (const { form: parts } of fake.requests) {
      expect(parts?.find((part) => part.field === "image")?.sha256).toBe(sha256(file));
    }
  });
});
