/** The secret that signs image links: created once and stored beside the images. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createSecretFile, readSecretFile } from "./secret-file.ts";

const secretBytes = 32;

/** Throws the disk's error. */
export function openLinkSecret(folder: string): Uint8Array {
  const path = join(folder, "links.secret");
  const stored = readSecretFile(path);
  if (stored?.length === secretBytes) return stored;
  // A damaged secret is replaced: existing links stop working.
  if (stored) rmSync(path, { force: true });
  return createSecretFile(path, secretBytes);
}
