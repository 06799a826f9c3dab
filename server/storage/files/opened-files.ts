/**
 * Detects a removed data folder, and open files that were removed or replaced at their paths. Writes into such a file
 * succeed and are lost when the process ends; only a stat of the path shows it.
 */
import { type Stats, statSync } from "node:fs";
import { errorCode, errorMessage } from "../../lib/error-code.ts";

interface Opened {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

/** A write-ahead log of SQLite. It is created by the first write, and grows until SQLite starts it over. */
export interface WriteAheadLog {
  readonly path: string;
  /**
   * Whether the rows are still readable although the log became shorter: a checkpoint may have moved them into the
   * database.
   */
  isIntact(): boolean;
}

export class OpenedFiles {
  /** The problem that the last check found, worded for the operator. */
  problem: string | undefined;
  #files: Opened[];
  readonly #logs: readonly WriteAheadLog[];
  /** The size of each log at the last check. */
  readonly #sizes = new Map<WriteAheadLog, number>();

  /** Files and folders that are open, or in use, from now on. Files that do not exist are not watched. */
  constructor(paths: readonly string[], logs: readonly WriteAheadLog[] = []) {
    this.#files = paths.flatMap(opened);
    this.#logs = logs;
  }

  /** This process has opened the file at this path, or has replaced it by another one. */
  watch(path: string): void {
    this.#files = [...this.#files.filter((file) => file.path !== path), ...opened(path)];
  }

  /** Takes a few microseconds per file. */
  check(): string | undefined {
    this.problem = this.#find();
    return this.problem;
  }

  #find(): string | undefined {
    for (const log of this.#logs) {
      const problem = this.#watchLog(log);
      if (problem !== undefined) return problem;
    }
    for (const { path, device, inode } of this.#files) {
      const found = statOrError(path);
      if (typeof found === "string") return `${path} cannot be read any more: ${found}. ${remedy}`;
      if (!found) return `${path} was removed while the gateway was running. ${remedy}`;
      if (found.dev !== device || found.ino !== inode) {
        return `${path} was replaced by another one while the gateway was running. ${remedy}`;
      }
    }
    return undefined;
  }

  /** A log is watched once it exists. Its removal and its replacement are detected as for other files. */
  #watchLog(log: WriteAheadLog): string | undefined {
    const found = statOrError(log.path);
    if (typeof found !== "object") return undefined;
    const previous = this.#sizes.get(log);
    if (previous !== undefined && found.size < previous && !log.isIntact())
      return `${log.path} was truncated while the gateway was running: rows are lost. Restart the gateway.`;
    if (previous === undefined)
      this.#files.push({ path: log.path, device: found.dev, inode: found.ino });
    this.#sizes.set(log, found.size);
    return undefined;
  }
}

const opened = (path: string): Opened[] => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? [{ path, device: found.dev, inode: found.ino }] : [];
};

const remedy = "Restore the original, or restart the gateway.";

/** Undefined: it does not exist. Text: the error of the system. */
function statOrError(path: string): Stats | string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A folder of the path is a file now.
    if (errorCode(error) === "ENOTDIR") return undefined;
    return errorMessage(error);
  }
}
