/** GET /v1/files with many files and with long names, and the memory of the response. */
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import OpenAI from "openai";
import { createSendList } from "../../server/api/send-list.ts";
import { ResponseMemory } from "../../server/limits/response-memory.ts";
import type { StreamedResponseBody } from "../../server/request/http-types.ts";
import { refusalOf } from "../conformance/arrange.ts";
import { keyOf, startTwoProjects, textFile } from "./two-projects.ts";

const { gateway, first, alone } = startTwoProjects();
afterAll(() => gateway.close());

const idOf = (at: number): string => `file-${at.toString(16).padStart(32, "0")}`;

/** Rows of files, as if they had been uploaded: thousands of uploads would take long. */
function storeFiles(owner: string, count: number, filename: string): void {
  using db = new Database(join(gateway.folder, "jobs.db"));
  db.run("PRAGMA busy_timeout = 5000");
  const insert = db.query(
    `INSERT INTO files (id, owner, purpose, filename, bytes, space, created_at, state)
     VALUES (?, ?, 'user_data', ?, 1, 4096, ?, 'stored')`,
  );
  db.transaction(() => {
    for (let at = 1; at <= count; at++)
      insert.run(idOf(at), owner, filename, 1_700_000_000_000 + at);
  })();
}

test("a page of files ends after 1,000 of them, whatever limit says, and the SDK reads all pages", async () => {
  storeFiles("project:one", 2500, "n".repeat(2000));
  const page = await first.files.list({ limit: 10_000 });
  expect(page.data).toHaveLength(1000);
  expect(page.has_more).toBe(true);
  expect((await first.files.list()).data).toHaveLength(1000);
  const listed: string[] = [];
  for await (const { id } of first.files.list({ limit: 10_000, order: "asc" })) listed.push(id);
  expect(listed).toEqual(Array.from({ length: 2500 }, (_, at) => idOf(at + 1)));
  // A name that is longer than those of new files.
  expect((await first.files.retrieve(idOf(1))).filename).toHaveLength(2000);
});

test("a new file name above 255 characters is refused, in forms and in uploads", async () => {
  const create = async (name: string) =>
    alone.files.create({ file: await textFile("a", name), purpose: "user_data" });
  const kept = await create("é".repeat(255));
  expect(kept.filename).toBe("é".repeat(255));
  const refused = await refusalOf(create("n".repeat(256)), OpenAI.BadRequestError);
  expect(refused).toMatchObject({ param: "file" });
  expect(refused.message).toContain("255");
  const upload = (filename: string) =>
    alone.uploads.create({ bytes: 1, filename, mime_type: "text/plain", purpose: "user_data" });
  expect((await upload("n".repeat(255))).filename).toHaveLength(255);
  const refusedUpload = await refusalOf(upload("n".repeat(256)), OpenAI.BadRequestError);
  expect(refusedUpload).toMatchObject({ param: "filename" });
});

test("an `after` that is no id of a file is refused, and that of a deleted file is a cursor", async () => {
  const made: string[] = [];
  for (const text of ["a", "b", "c"])
    made.push((await alone.files.create({ file: await textFile(text), purpose: "vision" })).id);
  const [oldest, middle, newest] = made as [string, string, string];
  const refused = await refusalOf(alone.files.list({ after: "file-nope" }), OpenAI.BadRequestError);
  expect(refused).toMatchObject({ param: "after" });
  await alone.files.delete(middle);
  const page = await alone.files.list({ after: middle, purpose: "vision" });
  expect(page.data.map(({ id }) => id)).toEqual([oldest]);
  const before = await alone.files.list({ after: middle, order: "asc" });
  expect(before.data.map(({ id }) => id)).toEqual([newest]);
});

test("two clients of one key read a large list at the same time", async () => {
  const headers = { authorization: `Bearer ${keyOf("first")}` };
  const lists = await Promise.all(
    [1, 2].map(async () => (await fetch(`${gateway.baseURL}/files`, { headers })).json()),
  );
  expect(lists[0]).toEqual(lists[1]);
});

describe("the memory of a list", () => {
  const incoming = { signal: new AbortController().signal };
  const maxBytes = 400_000;
  const list = { data: ["x".repeat(200_000)] };
  const bytes = JSON.stringify(list).length;

  test("is reserved before the list is read, and held until the client has read the response", async () => {
    const responseMemory = new ResponseMemory(1_000_000);
    const sendList = createSendList({ responseMemory });
    const read = async () => {
      expect(responseMemory.held).toBe(maxBytes);
      return list;
    };
    const { body } = await sendList(incoming, { keyId: "a", maxBytes, read });
    expect(responseMemory.held).toBe(bytes);
    const { length, open, close } = body as StreamedResponseBody;
    expect(length).toBe(bytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of open()) chunks.push(Uint8Array.from(chunk as Uint8Array));
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual(list);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(bytes);
    await close(true);
    expect(responseMemory.held).toBe(0);
  });

  test("is released if the list cannot be read", async () => {
    const responseMemory = new ResponseMemory(1_000_000);
    const failing = createSendList({ responseMemory })(incoming, {
      keyId: "a",
      maxBytes,
      read: () => Promise.reject(new Error("the database is closed")),
    });
    await expect(failing).rejects.toThrow("the database is closed");
    expect(responseMemory.held).toBe(0);
  });

  test("of a key whose clients do not read keeps its further lists waiting, and not those of another key", async () => {
    const responseMemory = new ResponseMemory(1_500_000);
    const sendList = createSendList({ responseMemory });
    const request = (keyId: string) =>
      sendList(incoming, { keyId, maxBytes, read: async () => list });
    const unread = await request("a");
    await request("a");
    let isSent = false;
    const waiting = request("a").then((response) => {
      isSent = true;
      return response;
    });
    await request("b");
    expect(isSent).toBe(false);
    await (unread.body as StreamedResponseBody).close(false);
    await waiting;
  });
});
