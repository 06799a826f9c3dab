/**
 * Notices that files which are open were removed or replaced at their paths. Writes into such a file succeed, and what
 * they write is gone when the process ends; only a look at the path tells.
 */
import { type Stats, statSync } from "node:fs";
import { codeOf } from "../lib/error-code.ts";

interface Opened {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

export class OpenedFiles {
  readonly #files: readonly Opened[];

  /** Files and folders that are open, or in use, from now on. Those that do not exist are not watched. */
  constructor(paths: readonly string[]) {
    this.#files = paths.flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? [{ path, device: found.dev, inode: found.ino }] : [];
    });
  }

  /** What is wrong, for the person who runs the gateway. A few microseconds for each file. */
  problem(): string | undefined {
    for (const { path, device, inode } of this.#files) {
      const found = look(path);
      if (typeof found === "string") return `${path} cannot be read any more: ${found}. ${remedy}`;
      if (!found) return `${path} was removed while the gateway was running. ${remedy}`;
      if (found.dev !== device || found.ino !== inode) {
        return `${path} was replaced by another one while the gateway was running. ${remedy}`;
      }
    }
    return undefined;
  }
}

const remedy = "Put back the original, or restart the gateway.";

/** Undefined where there is none; text where the system does not say. */
function look(path: string): Stats | string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A folder of the path is a file now.
    if (codeOf(error) === "ENOTDIR") return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}
