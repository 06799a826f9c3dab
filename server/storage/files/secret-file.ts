/**
 * A file with random bytes that is created once: for the signatures of image links, and for the encryption of stored
 * secrets.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../../lib/error-code.ts";

/** Undefined if the file does not exist. Throws the disk's error. */
export function readSecretFile(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns the bytes of the file, which another process may have created first. Throws the disk's error. */
export function createSecretFile(path: string, length: number): Uint8Array {
  const draft = join(dirname(path), `${randomUUID()}.draft`);
  writeFileSync(draft, randomBytes(length), { mode: 0o600, flag: "wx" });
  publish(draft, path);
  return readFileSync(path);
}

/** Two processes that start at the same time must use the same secret: the first link wins. */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    // Some file systems have no hard links. There the last rename wins.
    if (errorCode(error) !== "EEXIST") {
      renameSync(draft, path);
      return;
    }
  }
  rmSync(draft, { force: true });
}
