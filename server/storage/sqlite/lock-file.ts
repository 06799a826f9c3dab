/**
 * A lock that one process can hold. It is the lock of a SQLite file, which the operating system releases when the
 * process ends, also after kill -9; the file that stays behind is no lock.
 */
import { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";

/** Undefined if another process has the lock. Throws if the file cannot be created. */
export function lockFile(path: string): Disposable | undefined {
  const database = new Database(path, { create: true });
  if (!isLocked(database, path)) {
    database.close();
    return undefined;
  }
  return {
    [Symbol.dispose]: () => {
      // While it is locked: another process must not lock a file that is deleted after that.
      rmSync(path, { force: true });
      database.close();
    },
  };
}

function isLocked(database: Database, path: string): boolean {
  try {
    // Nothing is written to it, so it needs no file for its journal.
    database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
  } catch (error) {
    if (errorCode(error) === "SQLITE_BUSY") return false;
    database.close();
    throw error;
  }
  // The process that had the lock until now has deleted the file.
  return existsSync(path);
}
