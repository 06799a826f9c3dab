/** The secret that signs image links: created once and stored beside the images. */
import { randomBytes, randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../lib/error-code.ts";

const secretBytes = 32;

/** Throws what the disk throws. */
export function openLinkSecret(folder: string): Uint8Array {
  const path = join(folder, "links.secret");
  const kept = read(path);
  if (kept?.length === secretBytes) return kept;
  // What is not one any more, by some mishap, is made anew: links given out before end sooner then.
  if (kept) rmSync(path, { force: true });
  const draft = join(folder, `links.secret-${randomUUID()}`);
  writeFileSync(draft, randomBytes(secretBytes), { mode: 0o600, flag: "wx" });
  settle(draft, path);
  return readFileSync(path);
}

/** Two that start at the same time in the same folder must end up with the same one: the first that gets there wins. */
function settle(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    // Some volumes know no second name for a file. There the last one wins.
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
