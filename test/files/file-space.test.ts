/** Files take space as their bytes arrive, and the work over them leaves turns to other requests. */

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { until } from "../until.ts";
import { openFiles, owner } from "./open-files.ts";
import { keyOf, startTwoProjects, textFile } from "./two-projects.ts";

const megabyte = 1024 * 1024;
const { gateway, mate } = startTwoProjects({ settings: { VEXEL_FILES_MAX_BYTES: "4000000" } });
afterAll(() => gateway.close());

/** Sends the head of a form that announces 1 MB, and the first bytes of its file. */
async function sendHalf(): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const head = [
    "POST /v1/files HTTP/1.1",
    "host: gateway",
    `authorization: Bearer ${keyOf("first")}`,
    "content-type: multipart/form-data; boundary=x",
    "content-length: 1000000",
  ].join("\r\n");
  const file = 'content-disposition: form-data; name="file"; filename="a"';
  socket.write(`${head}\r\n\r\n--x\r\n${file}\r\n\r\n${"a".repeat(1000)}`);
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

test("forms that have not arrived write nothing to the database, and reserve no space", async () => {
  const drafts = new Bun.Glob("*");
  const sockets = await Promise.all(Array.from({ length: 40 }, sendHalf));
  const countDrafts = (): number => {
    const folder = join(gateway.folder, "files", ".drafts");
    return [...drafts.scanSync({ cwd: folder })].length;
  };
  await until(() => countDrafts() === sockets.length);
  using db = new Database(join(gateway.folder, "jobs.db"), { readonly: true });
  const rows = db.query("SELECT * FROM files").all().length;
  expect([rows, db.query("SELECT * FROM file_space").all().length]).toEqual([0, 0]);
  const file = await mate.files.create({
    file: await textFile("x".repeat(1_900_000)),
    purpose: "user_data",
  });
  expect(file.bytes).toBe(1_900_000);
  for (const socket of sockets) socket.destroy();
  await until(() => countDrafts() === 0);
});

test("bytes that have arrived count before their form is complete", async () => {
  using folder = temporaryFolder();
  const { receiving, stored, close } = openFiles(folder.path, unlimitedDisk);
  const arrived = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  const chunks = async function* () {
    yield Buffer.alloc(60_000);
    arrived.resolve();
    await rest.promise;
  };
  const receivingFile = receiving.receive(owner, chunks());
  await arrived.promise;
  const full = { kind: "file_quota_exceeded" };
  await expect(receiving.ensureSpace(owner, 50_000)).rejects.toMatchObject(full);
  await expect(receiving.ensureSpace("project:two", 50_000)).rejects.toMatchObject(full);
  rest.resolve();
  await (await receivingFile).discard();
  await receiving.ensureSpace(owner, 50_000);
  expect(stored()).toEqual([]);
  await close();
});

test("a file that does not announce its size stops when the space is used up", async () => {
  using folder = temporaryFolder();
  const { receiving, stored, close } = openFiles(folder.path, unlimitedDisk);
  let sent = 0;
  const chunks = async function* () {
    for (; sent < 64; sent++) yield Buffer.alloc(megabyte);
  };
  await expect(receiving.receive(owner, chunks())).rejects.toMatchObject({
    kind: "file_quota_exceeded",
  });
  expect(sent).toBeLessThan(8);
  expect(stored()).toEqual([]);
  await close();
});

/** How often the event loop turns while the work runs. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test("other requests run while the checksum of an upload is verified, and completing copies nothing", async () => {
  using folder = temporaryFolder();
  const quotas = { owner: 1e9, all: 1e9 };
  const { uploads, space, stored, close } = openFiles(folder.path, unlimitedDisk, quotas);
  const fields = { bytes: 32 * megabyte, filename: "a", purpose: "batch", fileSeconds: null };
  const upload = await uploads.create(owner, fields);
  const chunk = Buffer.alloc(megabyte, "vexel");
  const parts: string[] = [];
  const hash = new Bun.CryptoHasher("md5");
  for (let at = 0; at < 2; at++) {
    const chunks = Array.from({ length: 16 }, () => chunk);
    for (const each of chunks) hash.update(each);
    parts.push((await uploads.addPart(owner, upload.id, chunks)).id);
  }
  const md5 = hash.digest("hex");
  const turns = await turnsDuring(() => uploads.complete(owner, upload.id, parts, md5));
  expect(turns).toBeGreaterThan(64);
  expect(stored()).toEqual(parts.toSorted());
  expect(await space()).toBe(32 * megabyte);
  await close();
});

test("a hundred forms that arrive at once are begun in many turns", async () => {
  using folder = temporaryFolder();
  const quotas = { owner: 1e9, all: 1e9 };
  const { receiving, stored, close } = openFiles(folder.path, unlimitedDisk, quotas);
  const turns = await turnsDuring(async () => {
    const receive = async (): Promise<void> => {
      await receiving.ensureSpace(owner, 1000);
      await (await receiving.receive(owner, [Buffer.alloc(1000)])).discard();
    };
    await Promise.all(Array.from({ length: 100 }, receive));
  });
  expect(turns).toBeGreaterThan(37);
  expect(stored()).toEqual([]);
  await close();
});

test("other requests run between the transactions of many requests", async () => {
  const db = new SqliteDatabase(new Database(":memory:"));
  await db.query("CREATE TABLE numbers (number INTEGER)");
  let sinceTurn = 0;
  let most = 0;
  let isOver = false;
  const count = (): void => {
    sinceTurn = 0;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const insert = async (number: number): Promise<void> => {
    await db.transaction((queries) =>
      queries.query("INSERT INTO numbers (number) VALUES ($1)", [number]),
    );
    most = Math.max(most, ++sinceTurn);
  };
  await Promise.all(Array.from({ length: 100 }, (_, at) => insert(at)));
  isOver = true;
  expect(most).toBeLessThanOrEqual(2);
  await db.close();
});
