/** Uploads that never end cannot fill the disk: the share of their API key is bounded, and other keys are served. */

import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayOptions,
  readLedger,
  startGateway,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { mayMount, mountTmpfs } from "../storage/small-disk.ts";
import { until } from "../until.ts";
import {
  bearer,
  chunk,
  embeddingModel,
  expectError,
  formOf,
  imageModel,
  openTempFiles,
  png,
  RawConnection,
  toHttpText,
} from "./gateway-fixture.ts";

const megabyte = 1024 * 1024;
const otherKey = "sk-other-0123456789abcdef";
const withOtherKey = (url: string, imageOptions?: string): string =>
  `${configFor(url, imageOptions)}  - { name: other, key: ${otherKey} }\n`;
const asOther = { authorization: `Bearer ${otherKey}` };

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const boundary = "----half";
const formStart = [
  `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${imageModel}\r\n`,
  `--${boundary}\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na hat\r\n`,
  `--${boundary}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n`,
  "content-type: image/png\r\n\r\n",
].join("");
const editHead = (more: Record<string, string>): string =>
  toHttpText({
    method: "POST",
    path: "/v1/images/edits",
    headers: { ...bearer, "content-type": `multipart/form-data; boundary=${boundary}`, ...more },
  });

/** Announces an upload and sends only the start of it. */
async function halfSent(url: string, announced: number, sent: number): Promise<RawConnection> {
  const connection = await RawConnection.open(url);
  cleanUps.push(() => connection.disconnect());
  connection.send(editHead({ "content-length": String(announced) }), formStart, png);
  for (let left = sent; left > 0; left -= megabyte) {
    await connection.sendAll(Buffer.alloc(Math.min(left, megabyte), 1));
  }
  return connection;
}

/** The same, in chunked coding: its length is unknown. */
async function halfSentChunked(url: string, sent: number): Promise<RawConnection> {
  const connection = await RawConnection.open(url);
  cleanUps.push(() => connection.disconnect());
  connection.send(editHead({ "transfer-encoding": "chunked" }), chunk(formStart));
  for (let left = sent; left > 0 && connection.received === ""; left -= megabyte) {
    await connection.sendAll(chunk(new Uint8Array(Math.min(left, megabyte))));
  }
  return connection;
}

const edit = (url: string, headers: Record<string, string>, bytes: number): Promise<Response> => {
  const large = new Uint8Array(bytes);
  large.set(png);
  const body = formOf(["model", imageModel], ["prompt", "a hat"], ["image", large]);
  return fetch(`${url}/v1/images/edits`, { method: "POST", headers, body });
};

const embed = (url: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ model: embeddingModel, input: "a" }),
  });

function start(
  settings: Record<string, string>,
  {
    imageOptions,
    ...options
  }: Pick<GatewayOptions, "minBodyRate"> & { imageOptions?: string } = {},
) {
  const fake = startFake();
  cleanUps.push(() => fake.close());
  const gateway = startGateway({
    yaml: withOtherKey(fake.url, imageOptions),
    settings,
    ...options,
  });
  cleanUps.push(() => gateway.close());
  return gateway;
}

/** Another key uploads and embeds, and both requests have their rows. */
async function expectServed(url: string, folder: string): Promise<void> {
  for (const response of [await edit(url, asOther, 4 * megabyte), await embed(url, asOther)]) {
    expect(response.status, await response.clone().text()).toBe(200);
    const id = response.headers.get("x-request-id");
    expect(readLedger(folder).find(({ requestId }) => requestId === id)?.status).toBe(200);
  }
}

describe("half-sent uploads of one key", () => {
  test("that announce their length are refused beyond the key's share, before their bodies are read", async () => {
    const gateway = start({ VEXEL_TEMP_STORAGE_BYTES: String(32 * megabyte) });
    // One key gets 16 MB while it is alone.
    const uploads = await Promise.all(
      Array.from({ length: 12 }, () => halfSent(gateway.url, 4 * megabyte, megabyte)),
    );
    const refused = () => uploads.filter(({ received }) => received !== "");
    await until(() => refused().length === 8);
    const response = await refused()[0]!.response();
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(JSON.parse(response.body).error).toMatchObject({ code: "rate_limit_exceeded" });
    expect(JSON.parse(response.body).error.message).toContain("VEXEL_TEMP_STORAGE_BYTES");
    await expectError(await edit(gateway.url, bearer, 4 * megabyte), "upload_limit_reached");
    // A request that needs no disk space is served for the same key.
    expect((await edit(gateway.url, bearer, 1000)).status).toBe(200);
    expect((await embed(gateway.url, bearer)).status).toBe(200);
    await expectServed(gateway.url, gateway.folder);

    for (const upload of uploads) upload.disconnect();
    await until(() => gateway.inFlight() === 0);
    expect((await edit(gateway.url, bearer, 15 * megabyte)).status).toBe(200);
  });

  test("are refused before the client has sent anything, if it waits for 100 Continue", async () => {
    const gateway = start({ VEXEL_TEMP_STORAGE_BYTES: String(32 * megabyte) });
    await halfSent(gateway.url, 14 * megabyte, megabyte);
    await until(() => gateway.inFlight() === 1);
    const connection = await RawConnection.open(gateway.url);
    cleanUps.push(() => connection.disconnect());
    const announced = { "content-length": String(4 * megabyte), expect: "100-continue" };
    connection.send(editHead(announced));
    expect((await connection.response()).status).toBe(429);
  });

  test("in chunked coding are refused when the share is used up, and another key is served", async () => {
    const gateway = start({ VEXEL_TEMP_STORAGE_BYTES: String(32 * megabyte) });
    const uploads: RawConnection[] = [];
    for (let at = 0; at < 8; at++) uploads.push(await halfSentChunked(gateway.url, 5 * megabyte));
    await until(() => uploads.filter(({ received }) => received !== "").length >= 5);
    const refused = uploads.find(({ received }) => received !== "");
    expect((await refused!.response()).status).toBe(429);
    await expectServed(gateway.url, gateway.folder);
  });

  test("that could never fit are refused as too large", async () => {
    const gateway = start({ VEXEL_TEMP_STORAGE_BYTES: String(4 * megabyte) });
    const message = await expectError(
      await edit(gateway.url, bearer, 3 * megabyte),
      "request_too_large",
    );
    expect(message).toContain("VEXEL_TEMP_STORAGE_BYTES");
  });
});

test("uploads that end in any way release all their temp storage", async () => {
  const gateway = start(
    {
      VEXEL_TEMP_STORAGE_BYTES: String(32 * megabyte),
      VEXEL_MAX_FILE_BYTES: String(20 * megabyte),
    },
    { imageOptions: " onDisconnect: cancel," },
  );
  const { url } = gateway;
  const finish = `\r\n--${boundary}--\r\n`;
  const endings: (() => Promise<unknown>)[] = [
    () => edit(url, bearer, 2 * megabyte),
    () => edit(url, bearer, 100_000),
    // A file that is too large, in a form whose announced length fits into the storage.
    () => edit(url, bearer, 21 * megabyte),
    // The client disconnects in the middle of its upload.
    async () => (await halfSent(url, 2 * megabyte, megabyte)).disconnect(),
    async () => (await halfSentChunked(url, megabyte)).disconnect(),
    // The client disconnects while the image is generated.
    async () => {
      const connection = await halfSentChunked(url, megabyte);
      connection.send(chunk(finish), "0\r\n\r\n");
      await Bun.sleep(5);
      connection.disconnect();
    },
    // A form that breaks off, and one with bytes after its end.
    async () => {
      const connection = await halfSentChunked(url, megabyte);
      connection.send("0\r\n\r\n");
      expect((await connection.response()).status).toBe(400);
    },
    async () => {
      const connection = await halfSentChunked(url, megabyte);
      connection.send(chunk(`${finish}${"x".repeat(100_000)}`), "0\r\n\r\n");
      await connection.response();
    },
  ];
  await Promise.all(endings.map((end) => end().catch(() => undefined)));
  await until(() => gateway.inFlight() === 0);
  await until(() => openTempFiles(gateway.folder).length === 0);
  // An upload that kept its storage would leave too little of the key's 16 MB.
  const response = await edit(url, bearer, 15.9 * megabyte);
  expect(response.status, await response.text()).toBe(200);
});

test("an upload below the minimum rate is ended, and its temp storage released", async () => {
  const gateway = start(
    { VEXEL_TEMP_STORAGE_BYTES: String(16 * megabyte), VEXEL_BODY_TIMEOUT: "1" },
    { minBodyRate: 10 * megabyte },
  );
  // 7.5 of the key's 8 MB; its first megabyte buys a tenth of a second.
  const upload = await halfSent(gateway.url, 7.5 * megabyte, megabyte);
  const trickle = setInterval(() => upload.send("x"), 50);
  cleanUps.push(() => clearInterval(trickle));
  await expectError(await edit(gateway.url, bearer, megabyte), "upload_limit_reached");
  const response = await upload.response();
  expect(response.status).toBe(408);
  expect(JSON.parse(response.body).error.message).toContain("bytes per second");
  expect((await edit(gateway.url, bearer, 7 * megabyte)).status).toBe(200);
});

test("an upload is served after the temp folder alone was removed", async () => {
  const gateway = start({});
  expect((await edit(gateway.url, bearer, 2 * megabyte)).status).toBe(200);
  rmSync(join(gateway.folder, "temp"), { recursive: true });
  expect((await edit(gateway.url, bearer, 2 * megabyte)).status).toBe(200);
});

/** A gateway in its own process, with its data folder on a disk of 48 MB. */
async function startOnSmallDisk() {
  const folder = temporaryFolder();
  cleanUps.push(() => folder[Symbol.dispose]());
  const disk = join(folder.path, "data");
  mkdirSync(disk);
  cleanUps.push(mountTmpfs(disk, "48m"));
  const fake = startFake();
  cleanUps.push(() => fake.close());
  const gateway = await startProcess({ folder: folder.path, yaml: withOtherKey(fake.url) });
  cleanUps.push(async () => {
    gateway.kill("SIGKILL");
    await gateway.exited;
  });
  return { disk, fake, gateway };
}

/** Needs a small disk of its own, to fill it. */
if (mayMount()) {
  test("half-sent uploads leave the ledger space on a small disk: embeddings are served, with their rows", async () => {
    const { disk, gateway } = await startOnSmallDisk();
    const freeBytes = (): number => statfsSync(disk).bavail * statfsSync(disk).bsize;
    // Small uploads: each frees little space on the full disk when it fails. About a hundred of them are in memory.
    const uploads: RawConnection[] = [];
    for (let at = 0; at < 320; at++) uploads.push(await halfSentChunked(gateway.url, 300_000));
    await until(() => uploads.filter(({ received }) => received.includes(" 503 ")).length >= 20);
    // The reserve of 2.4 MB, less what the ledger has written of it since the space was measured.
    expect(freeBytes()).toBeGreaterThan(1.5 * megabyte);
    await expectError(await edit(gateway.url, asOther, 10 * megabyte), "storage_unavailable");
    for (let times = 0; times < 40; times++) {
      const response = await embed(gateway.url, asOther);
      expect(response.status, await response.clone().text()).toBe(200);
    }
    expect(readLedger(disk).filter(({ status }) => status === 200)).toHaveLength(40);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);

    for (const upload of uploads) upload.disconnect();
    await until(() => freeBytes() > 40 * megabyte);
    expect((await edit(gateway.url, asOther, 10 * megabyte)).status).toBe(200);
    expect(gateway.output()).toContain("disk-space-low");
    expect(gateway.output()).toContain("disk-space-recovered");
  });

  test("an image request is refused before it is paid for when the disk has no space for its response", async () => {
    const { disk, fake, gateway } = await startOnSmallDisk();
    const generate = (): Promise<Response> =>
      gateway.post("/v1/images/generations", { model: imageModel, prompt: "a hat" });
    expect((await generate()).status).toBe(200);
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "filler"), Buffer.alloc(bavail * bsize - 1.5 * megabyte));
    // A measurement of the disk holds for a second.
    await Bun.sleep(1100);
    const sent = fake.requests.length;
    await expectError(await generate(), "storage_unavailable");
    expect(fake.requests).toHaveLength(sent);
    expect((await embed(gateway.url, asOther)).status).toBe(200);
  });
}
