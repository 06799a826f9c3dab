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

export class OpenedFiles {
  /** The problem that the last check found, worded for the operator. */
  problem: string | undefined;
  #files: Opened[];
  #awaited: readonly string[];

  /**
   * Files and folders that are open, or in use, from now on. Files that do not exist are not watched.
   * `awaited`: files that are watched as soon as they exist, such as SQLite's write-ahead log.
   */
  constructor(paths: readonly string[], awaited: readonly string[] = []) {
    this.#files = paths.flatMap(opened);
    this.#awaited = awaited;
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
    const created = this.#awaited.flatMap(opened);
    this.#files.push(...created);
    this.#awaited = this.#awaited.filter((path) => !created.some((file) => file.path === path));
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
}

const opened = (path: string): Opened[] => {
  const found = statOrError(path);
  return typeof found === "object" ? [{ path, device: found.dev, inode: found.ino }] : [];
};

const remedy = "Restore the original, or restart the gateway.";

/** Undefined if it does not exist. Text: the error of the system. */
function statOrError(path: string): Stats | string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A folder of the path is a file now.
    if (errorCode(error) === "ENOTDIR") return undefined;
    return errorMessage(error);
  }
}
