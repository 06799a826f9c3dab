/**
 * Data folder lock: one gateway per folder. It is SQLite's lock on a file of its own: the operating system releases it
 * when the process dies, however it dies, and it does not depend on process ids, which repeat in containers.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../lib/error-code.ts";
import { StoreError } from "./open-database.ts";

/** A gateway that is shutting down may still hold the lock. */
const lockTimeoutMs = 1000;

interface FolderLock {
  release(): void;
}

/** The folder must exist. Throws StoreError, worded for the operator of the gateway. */
export function lockFolder(folder: string): FolderLock {
  const path = join(folder, "lock.db");
  let db: Database | undefined;
  try {
    db = new Database(path, { create: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    db.run("BEGIN EXCLUSIVE");
  } catch (cause) {
    db?.close();
    if (errorCode(cause) === "SQLITE_BUSY") throw new StoreError(inUse(folder), { cause });
    const reason = errorMessage(cause);
    throw new StoreError(
      `${path} cannot be locked: ${reason}. The file is empty and can be removed.`,
      {
        cause,
      },
    );
  }
  const lockedDatabase = db;
  return { release: () => lockedDatabase.close() };
}

const inUse = (folder: string): string =>
  `Another gateway is running with the data folder ${folder}. Stop it, or set VEXEL_DATA to another folder for this one, such as VEXEL_DATA=./data-2.`;
