/**
 * The manifest of a backup, `backup.json`: written last, so a backup without it is incomplete. A restore verifies the
 * SHA-256 of each file against it before it writes anything.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { StoreError } from "../sqlite/open-database.ts";

const schema = z.object({
  format: z.literal(1),
  /** The version of Vexel that made the backup. */
  version: z.string(),
  createdAt: z.string(),
  content: z.enum(["data folder", "database"]),
  files: z.array(
    z.object({
      // A changed manifest cannot name a path outside of the backup.
      path: z.string().regex(/^(?!.*\.\.)[\w.-]+(\/[\w.-]+)*$/),
      bytes: z.number(),
      sha256: z.string(),
    }),
  ),
});

type Manifest = Readonly<z.infer<typeof schema>>;
export type ManifestFile = Manifest["files"][number];

const name = "backup.json";

export const writeManifest = (folder: string, manifest: Manifest): void =>
  writeFileSync(join(folder, name), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });

/** Reads the manifest and compares every file with it. Rejects with StoreError. */
export async function verifyBackup(folder: string): Promise<Manifest> {
  const manifest = readManifest(folder);
  for (const file of manifest.files) {
    const isPresent = existsSync(join(folder, file.path));
    if (!isPresent || (await describeFile(folder, file.path)).sha256 !== file.sha256) {
      throw new StoreError(
        `The backup ${folder} is damaged: ${file.path} is missing or was changed. Use another backup.`,
      );
    }
  }
  return manifest;
}

function readManifest(folder: string): Manifest {
  try {
    return schema.parse(JSON.parse(readFileSync(join(folder, name), "utf8")));
  } catch (cause) {
    throw new StoreError(
      `${folder} is not a complete backup: ${name} is missing or cannot be read.`,
      { cause },
    );
  }
}

export async function describeFile(folder: string, path: string): Promise<ManifestFile> {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const chunk of Bun.file(join(folder, path)).stream()) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { path, bytes, sha256: hash.digest("hex") };
}
