/**
 * The limits of image files: a file that cannot be deleted is still on the disk, so it counts, and its deletion is
 * retried.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImageFiles } from "../../server/storage/files/image-files.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

test("a file that cannot be deleted counts against the limit until it is deleted", async () => {
  using temporary = temporaryFolder();
  const folder = join(temporary.path, "images");
  let now = Date.now();
  const files = new ImageFiles({ folder, maxBytes: 1500, disk: unlimitedDisk, now: () => now });
  const put = () => files.put(new Uint8Array(1000), { type: "image/png", ttlMs: 1000 });
  const { name } = await put();
  // A folder replaces the file: unlink fails, even for root.
  const path = join(folder, name);
  renameSync(path, join(temporary.path, "moved"));
  mkdirSync(path);
  now += 120_000;
  await files.sweep();
  await expect(put()).rejects.toThrow("There is no disk space left");
  rmSync(path, { recursive: true });
  renameSync(join(temporary.path, "moved"), path);
  now += 61_000;
  await files.sweep();
  expect(readdirSync(folder)).toEqual([]);
  await put();
});

test("at most the maximum number of files is stored, until one expires", async () => {
  using temporary = temporaryFolder();
  let now = Date.now();
  const files = new ImageFiles({
    folder: temporary.path,
    maxBytes: 1000,
    maxFiles: 2,
    disk: unlimitedDisk,
    now: () => now,
  });
  const put = () => files.put(new Uint8Array(1), { type: "image/png", ttlMs: 1000 });
  const stored = await Promise.allSettled([put(), put(), put()]);
  expect(stored.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  now += 120_000;
  await put();
  expect(readdirSync(temporary.path)).toHaveLength(1);
});
