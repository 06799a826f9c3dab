/** Expired files and unfinished uploads are deleted, and uploads leave the disk reserve free. */
import { describe, expect, test } from "bun:test";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { DiskUse } from "../../server/temp-storage/disk-reserve.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { openFiles, owner } from "./open-files.ts";

const [hour, day] = [3_600_000, 86_400_000];
const bytes = (text: string): Buffer[] => [Buffer.from(text)];
const facts = { purpose: "user_data", filename: "a" };

test("a sweep deletes expired and unfinished files, and frees their space", async () => {
  using folder = temporaryFolder();
  const { clock, contents, files, index, space, stored, close } = openFiles(
    folder.path,
    unlimitedDisk,
  );
  const add = async (expiresAt: number | null): Promise<string> => {
    const received = await files.receive(owner, [Buffer.alloc(30_000)]);
    try {
      return (await received.store(() => ({ ...facts, expiresAt }))).id;
    } finally {
      await received.discard();
    }
  };
  const kept = await add(null);
  const expiring = await add(clock.now + hour);
  // A process that ended while it stored a file.
  await index.reserve({ id: "file-half", owner, bytes: 30_000, createdAt: clock.now });
  await contents.write("file-half", bytes("half"));
  await expect(add(null)).rejects.toMatchObject({ kind: "file_quota_exceeded" });
  await files.sweep();
  expect(stored()).toEqual([kept, expiring, "file-half"].sort());
  clock.now += hour;
  await expect(files.find(owner, expiring)).rejects.toMatchObject({ kind: "object_not_found" });
  await files.sweep();
  expect(stored()).toEqual([kept, "file-half"].sort());
  expect(await space()).toBe(60_000);
  clock.now += day;
  await files.sweep();
  expect(stored()).toEqual([kept]);
  expect(await space()).toBe(30_000);
  await close();
});

test("a sweep deletes the parts of an upload whose hour is over, and frees its space", async () => {
  using folder = temporaryFolder();
  const { clock, uploads, space, stored, close } = openFiles(folder.path, unlimitedDisk);
  const fields = { bytes: 90_000, filename: "a", purpose: "batch", fileSeconds: null };
  const upload = await uploads.create(owner, fields);
  await uploads.addPart(owner, upload.id, [Buffer.alloc(50_000)]);
  await uploads.sweep();
  expect(stored()).toHaveLength(1);
  clock.now += hour;
  await expect(uploads.addPart(owner, upload.id, bytes("late"))).rejects.toMatchObject({
    kind: "invalid_state",
    message: expect.stringContaining("expired"),
  });
  await uploads.sweep();
  expect(stored()).toEqual([]);
  expect(await space()).toBe(0);
  await expect(uploads.cancel(owner, upload.id)).rejects.toMatchObject({
    kind: "object_not_found",
  });
  await close();
});

test("the file of a completed upload outlives its upload, and is deleted with its parts", async () => {
  using folder = temporaryFolder();
  const { clock, files, uploads, space, stored, close } = openFiles(folder.path, unlimitedDisk);
  const fields = { bytes: 50_000, filename: "a", purpose: "batch", fileSeconds: null };
  const upload = await uploads.create(owner, fields);
  const parts: string[] = [];
  for (const [at, size] of [20_000, 30_000, 7000].entries())
    parts.push((await uploads.addPart(owner, upload.id, [Buffer.alloc(size, at)])).id);
  const used = parts.slice(0, 2);
  const { file } = await uploads.complete(owner, upload.id, used, undefined);
  expect(stored()).toEqual(used.toSorted());
  expect(await space()).toBe(50_000);
  clock.now += day;
  await uploads.sweep();
  await files.sweep();
  const content = await files.content(file);
  const joined = Buffer.concat([Buffer.alloc(20_000, 0), Buffer.alloc(30_000, 1)]);
  for (const [from, to] of [
    [0, 50_000],
    [0, 20_000],
    [19_999, 20_001],
    [20_000, 50_000],
    [49_999, 50_000],
  ] as const) {
    const read = await new Response(content.read(from, to)).bytes();
    expect(Buffer.from(read).equals(joined.subarray(from, to))).toBe(true);
  }
  await files.remove(owner, file.id);
  expect(stored()).toEqual([]);
  expect(await space()).toBe(0);
  await close();
});

test("a sweep deletes what a process that has ended was writing", async () => {
  using folder = temporaryFolder();
  const { clock, contents, close } = openFiles(folder.path, unlimitedDisk);
  const drafts = join(folder.path, "files", ".drafts");
  await contents.writeDraft(bytes("of a dead process"), "upload");
  const [name = ""] = readdirSync(drafts);
  utimesSync(join(drafts, name), new Date(clock.now - day), new Date(clock.now - day));
  await contents.writeDraft(bytes("of a running process"), "upload");
  await contents.sweep();
  expect(readdirSync(drafts)).toHaveLength(1);
  await close();
});

describe("when the disk is almost full", () => {
  test("an upload stops at the reserve, leaves nothing, and a paid result is still stored", async () => {
    using folder = temporaryFolder();
    let free = 100;
    const reserve: Readonly<Record<DiskUse, number>> = { upload: 80, request: 60, response: 40 };
    const { files, stored, close } = openFiles(folder.path, {
      hasSpace: (size, use) => free - size >= reserve[use],
      recordWrite: (size) => {
        free -= size;
      },
    });
    const chunks = [Buffer.alloc(10), Buffer.alloc(10), Buffer.alloc(10)];
    await expect(files.receive(owner, chunks)).rejects.toMatchObject({
      kind: "storage_unavailable",
    });
    expect(stored()).toEqual([]);
    const result = await files.beginResult("file-result", owner, 1_000_000);
    expect(await result?.write(chunks, "response")).toBe(30);
    await close();
  });
});
