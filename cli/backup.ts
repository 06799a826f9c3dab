/** `vexel db backup` and `vexel db restore`: the data folder or, with DATABASE_URL, the database. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";
import { ownCommand } from "../server/process/own-command.ts";
import type { Settings } from "../server/settings.ts";
import { backupFolder, restoreFolder } from "../server/storage/backup/backup-folder.ts";
import {
  describeFile,
  type ManifestFile,
  verifyBackup,
  writeManifest,
} from "../server/storage/backup/manifest.ts";
import { dumpDatabase, restoreDatabase } from "../server/storage/backup/postgres-tools.ts";
import { checkStoredSchema } from "../server/storage/sqlite/check-stored-schema.ts";
import { StoreError } from "../server/storage/sqlite/open-database.ts";
import { writeOutput } from "./write.ts";

const dumpName = "database.dump";

export async function backup(
  settings: Settings,
  target: string,
  withSecrets: boolean,
): Promise<number> {
  const { DATABASE_URL: url, VEXEL_DATA: folder } = settings;
  const isDatabase = url !== "";
  if (!isDatabase && !existsSync(folder)) {
    throw new StoreError(
      `The data folder ${folder} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
    );
  }
  // A backup of another version could not be restored with this one.
  if (isDatabase) await checkDatabase(url);
  else checkStoredSchema(folder, false);
  // Only the user of this command can read the copies.
  process.umask(0o077);
  if (existsSync(target)) throw new StoreError(`${target} exists. Name a new folder.`);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  try {
    if (isDatabase) await dumpDatabase(url, join(target, dumpName));
    const paths = isDatabase ? [dumpName] : await backupFolder({ folder, target, withSecrets });
    const files: ManifestFile[] = [];
    for (const path of paths) files.push(await describeFile(target, path));
    const content = isDatabase ? "database" : "data folder";
    writeManifest(target, {
      format: 1,
      version,
      content,
      files,
      createdAt: new Date().toISOString(),
    });
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    writeOutput(
      `Wrote ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB, to ${target}.\n${notIncluded(settings, withSecrets)}`,
    );
    return 0;
  } catch (error) {
    // A backup without its manifest is useless.
    rmSync(target, { recursive: true, force: true });
    throw error;
  }
}

async function checkDatabase(url: string): Promise<void> {
  const { PostgresDatabase } = await import("../server/storage/postgres/database.ts");
  const database = new PostgresDatabase({ url, now: Date.now, maxConnections: 1 });
  try {
    await database.assertKnownSchema();
  } finally {
    await database.close();
  }
}

function notIncluded({ DATABASE_URL, VEXEL_SECRET, BLOB_URL }: Settings, withSecrets: boolean) {
  const missing = [
    ...(VEXEL_SECRET !== "" ? ["VEXEL_SECRET"] : []),
    ...(VEXEL_SECRET === "" && DATABASE_URL === "" && !withSecrets
      ? ["secret.key and links.secret (--with-secrets includes them)"]
      : []),
    ...(BLOB_URL !== "" ? ["the bucket of BLOB_URL"] : []),
    "vexel.yaml and the environment",
  ];
  return `Not included; keep copies of them in another place: ${missing.join(", ")}.\n`;
}

export async function restore(settings: Settings, source: string): Promise<number> {
  const { DATABASE_URL: url, VEXEL_DATA: folder } = settings;
  process.umask(0o077);
  const manifest = await verifyBackup(source);
  const isDatabase = manifest.content === "database";
  if (isDatabase !== (url !== "")) {
    throw new StoreError(
      isDatabase
        ? "This is the backup of a PostgreSQL database. Set DATABASE_URL to an empty database."
        : `This is the backup of a data folder. Restore it without DATABASE_URL; "${ownCommand("db move")}" then moves the folder into the database.`,
    );
  }
  if (isDatabase) await restoreDatabase(url, join(source, dumpName));
  else {
    const paths = manifest.files.map(({ path }) => path);
    await restoreFolder(source, paths, folder);
  }
  writeOutput(
    `Restored the backup of ${manifest.createdAt} into ${isDatabase ? "the database" : folder}.\n`,
  );
  return 0;
}
