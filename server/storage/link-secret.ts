/** The secret that signs image links: created once and stored beside the images. */
import { randomBytes, randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../lib/error-code.ts";

const secretBytes = 32;

/** Throws the disk's error. */
export function openLinkSecret(folder: string): Uint8Array {
  const path = join(folder, "links.secret");
  const stored = read(path);
  if (stored?.length === secretBytes) return stored;
  // A damaged secret is replaced: existing links stop working.
  if (stored) rmSync(path, { force: true });
  const draft = join(folder, `links.secret-${randomUUID()}`);
  writeFileSync(draft, randomBytes(secretBytes), { mode: 0o600, flag: "wx" });
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

function read(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
