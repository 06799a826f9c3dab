/** Expired files and unfinished uploads are deleted, and uploads leave the disk reserve free. */
import { describe, expect, test } from "bun:test";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createClientFiles } from "../../server/files/client-files.ts";
import { createUploads } from "../../server/files/uploads.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import { createFileIndex } from "../../server/storage/sql/file-index.ts";
import { createUploadStore } from "../../server/storage/sql/upload-store.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import type { DiskUse } from "../../server/temp-storage/disk-reserve.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

const [hour, day] = [3_600_000, 86_400_000];
const bytes = (text: string): Buffer[] => [Buffer.from(text)];
const owner = "project:one";
const facts = { purpose: "user_data", filename: "a" };

function open(folder: string, disk: ConstructorParameters<typeof StoredFiles>[0]["disk"]) {
  const clock = { now: Date.now() };
  const now = (): number => clock.now;
  const warnings: unknown[] = [];
  const log = { warn: (event: string, fields?: unknown) => void warnings.push({ event, fields }) };
  const db = openJobDatabase(folder, now);
  const contents = new StoredFiles({ folder: join(folder, "files"), disk, now });
  const quotas = { owner: 100_000, all: 100_000 };
  const files = createClientFiles({
    index: createFileIndex(db),
    store: contents,
    quotas,
    log,
    now,
  });
  const uploads = createUploads({
    store: createUploadStore(db),
    contents,
    files,
    expiryOf: () => null,
    log,
    now,
  });
  const stored = (): string[] =>
    readdirSync(join(folder, "files"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  return { clock, contents, files, uploads, stored, warnings, close: () => db.close() };
}

test("a sweep deletes expired and unfinished files, and frees their space", async () => {
  using folder = temporaryFolder();
  const { clock, files, stored, close } = open(folder.path, unlimitedDisk);
  const add = async (expiresAt: number | null): Promise<string> => {
    const file = await files.begin(owner, 30_000);
    await file.write(bytes("content"));
    await file.complete({ ...facts, expiresAt });
    return file.id;
  };
  const kept = await add(null);
  const expiring = await add(clock.now + hour);
  const unfinished = await files.begin(owner, 90_000);
  await unfinished.write(bytes("half"));
  await expect(files.begin(owner, 30_000)).rejects.toMatchObject({ kind: "file_quota_exceeded" });
  await files.sweep();
  expect(stored()).toEqual([kept, expiring, unfinished.id].sort());
  clock.now += hour;
  await expect(files.find(owner, expiring)).rejects.toMatchObject({ kind: "object_not_found" });
  await files.sweep();
  expect(stored()).toEqual([kept, unfinished.id].sort());
  clock.now += day;
  await files.sweep();
  expect(stored()).toEqual([kept]);
  await expect(unfinished.complete({ ...facts, expiresAt: null })).rejects.toThrow();
  await (await files.begin(owner, 90_000)).discard();
  await close();
});

test("a sweep deletes the parts of an upload whose hour is over, and frees its space", async () => {
  using folder = temporaryFolder();
  const { clock, files, uploads, stored, close } = open(folder.path, unlimitedDisk);
  const fields = { bytes: 90_000, filename: "a", purpose: "batch", fileSeconds: null };
  const upload = await uploads.create(owner, fields);
  await uploads.addPart(owner, upload.id, bytes("part"));
  await uploads.sweep();
  expect(stored()).toHaveLength(1);
  clock.now += hour;
  await expect(uploads.addPart(owner, upload.id, bytes("late"))).rejects.toMatchObject({
    kind: "invalid_state",
    message: expect.stringContaining("expired"),
  });
  await uploads.sweep();
  expect(stored()).toEqual([]);
  await expect(uploads.cancel(owner, upload.id)).rejects.toMatchObject({
    kind: "object_not_found",
  });
  await (await files.begin(owner, 90_000)).discard();
  await close();
});

test("a sweep deletes what a process that has ended was writing", async () => {
  using folder = temporaryFolder();
  const { clock, contents, close } = open(folder.path, unlimitedDisk);
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
    const { files, stored, close } = open(folder.path, {
      hasSpace: (size, use) => free - size >= reserve[use],
      recordWrite: (size) => {
        free -= size;
      },
    });
    const upload = await files.begin(owner, 40);
    const chunks = [Buffer.alloc(10), Buffer.alloc(10), Buffer.alloc(10)];
    await expect(upload.write(chunks, "upload")).rejects.toMatchObject({
      kind: "storage_unavailable",
    });
    await upload.discard();
    expect(stored()).toEqual([]);
    const result = await files.beginResult("file-result", owner, 1_000_000);
    expect(await result?.write(chunks, "response")).toBe(30);
    await close();
  });
});
