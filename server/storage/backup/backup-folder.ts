/**
 * Backup of a data folder, also of a running gateway, and its restoration. Each database is copied by SQLite as of one
 * moment (`VACUUM INTO`).
 */
import { constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { copyFile, stat, utimes } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { errorCode } from "../../lib/error-code.ts";
import { copyDatabase } from "../sqlite/copy-database.ts";
import { lockFolder } from "../sqlite/folder-lock.ts";
import { StoreError } from "../sqlite/open-database.ts";

/**
 * A backup leaves out the embedding cache, stored content of requests, the lock, the copy of the last known
 * configuration, the last known number of replicas, and temp files.
 */
const databases = ["ledger.db", "backlog.db", "vexel.db", "events.db", "jobs.db"];
const blobFolders = ["images", "responses", "files"];
const secretFiles = ["secret.key", "links.secret"];
const outboxName = /\.log$/;
const draftName = /\.draft$|^\.drafts\//;
/** Files are moved into place from here once all of them are copied. */
const stagingName = "restoring";

interface FolderBackupOptions {
  readonly folder: string;
  /** It must exist. */
  readonly target: string;
  /** Whether the backup contains the keys that decrypt stored credentials and sign image links. */
  readonly withSecrets: boolean;
}

/** Returns the paths of the copied files. Rejects with StoreError. */
export async function backupFolder(options: FolderBackupOptions): Promise<string[]> {
  const { folder, target, withSecrets } = options;
  const copied: string[] = [];
  const copy = async (path: string): Promise<void> => {
    if (await copyIfExists(join(folder, path), join(target, path))) copied.push(path);
  };
  // The outbox before the ledger: a row that leaves the outbox meanwhile is in the ledger already, and a row in both is
  // recovered once.
  for (const name of readdirSync(folder).filter((file) => outboxName.test(file))) await copy(name);
  for (const name of databases) {
    if (!existsSync(join(folder, name))) continue;
    copyDatabase(join(folder, name), join(target, name));
    copied.push(name);
  }
  for (const name of blobFolders) {
    for (const path of filesBelow(join(folder, name))) {
      mkdirSync(dirname(join(target, name, path)), { recursive: true, mode: 0o700 });
      await copy(join(name, path));
    }
  }
  if (withSecrets) for (const name of secretFiles) await copy(name);
  return copied;
}

/** The complete files of a folder and of its folders, as paths from it. None if the folder does not exist. */
function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !draftName.test(path));
}

/** `folder` must be absent or empty. All files are restored, or none. Rejects with StoreError. */
export async function restoreFolder(
  source: string,
  paths: readonly string[],
  folder: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readdirSync(folder).length > 0) {
    throw new StoreError(
      `The data folder ${folder} is not empty. Move its files away, or set VEXEL_DATA to an empty folder.`,
    );
  }
  const lock = lockFolder(folder);
  const staging = join(folder, stagingName);
  try {
    for (const path of paths) {
      mkdirSync(dirname(join(staging, path)), { recursive: true, mode: 0o700 });
      await copyWithTime(join(source, path), join(staging, path));
    }
    for (const name of readdirSync(staging)) renameSync(join(staging, name), join(folder, name));
  } finally {
    rmSync(staging, { recursive: true, force: true });
    lock.release();
  }
}

/** Copies a file with its modification time, which is the expiry of an image. */
async function copyWithTime(from: string, to: string): Promise<void> {
  const { mtime } = await stat(from);
  await copyFile(from, to, constants.COPYFILE_EXCL);
  await utimes(to, mtime, mtime);
}

/** False: the file does not exist any more, because it has expired or was processed. */
async function copyIfExists(from: string, to: string): Promise<boolean> {
  try {
    await copyWithTime(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
