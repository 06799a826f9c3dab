/**
 * The secrets that sign image links: derived from `VEXEL_SECRET`, so that every replica serves the links of all, or
 * generated once and stored in the data folder.
 */
import { hkdfSync } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createSecretFile, readSecretFile } from "./secret-file.ts";

export interface LinkSecretOptions {
  /** The data folder. It must exist. */
  readonly folder: string;
  /** `VEXEL_SECRET`. Empty: the generated secret. */
  readonly secret: string;
  /** `VEXEL_SECRET_PREVIOUS`: secrets of links that still work. */
  readonly previous: readonly string[];
}

const secretBytes = 32;

/** The first secret signs. Links that were signed with any of them work. Throws the disk's error. */
export function openLinkSecrets(
  options: LinkSecretOptions,
): readonly [Uint8Array, ...Uint8Array[]] {
  const { folder, secret, previous } = options;
  const path = join(folder, "links.secret");
  const stored = readSecretFile(path);
  const isWhole = stored?.length === secretBytes;
  if (secret !== "") {
    return [derive(secret), ...previous.map(derive), ...(isWhole ? [stored] : [])];
  }
  if (isWhole) return [stored];
  // A damaged secret is replaced: existing links stop working.
  if (stored) rmSync(path, { force: true });
  return [createSecretFile(path, secretBytes)];
}

const derive = (secret: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "vexel", "image links", secretBytes));
