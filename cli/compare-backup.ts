/** `vexel db compare`: the rows that a backup lacks, before it takes the place of the data folder in a rollback. */
import { closeSync, openSync, writeSync } from "node:fs";
import { errorMessage } from "../server/lib/error-code.ts";
import type { Settings } from "../server/settings.ts";
import { verifyBackup } from "../server/storage/backup/manifest.ts";
import { checkStoredSchema } from "../server/storage/sqlite/check-stored-schema.ts";
import { lockFolder } from "../server/storage/sqlite/folder-lock.ts";
import { missingRows } from "../server/storage/sqlite/missing-rows.ts";
import { table, UsageError } from "./command.ts";
import { writeOutput } from "./write.ts";

/** `exported`: the new file for the rows, if they are wanted. */
export async function compareBackup(
  { DATABASE_URL: url, VEXEL_DATA: folder }: Settings,
  backup: string,
  exported: string | undefined,
): Promise<number> {
  if (url !== "") throw new UsageError("compare is for data folders, without DATABASE_URL.");
  const { content, createdAt } = await verifyBackup(backup);
  if (content === "database") throw new UsageError(`${backup} is the backup of a database.`);
  checkStoredSchema(folder, false);
  const lock = lockFolder(folder);
  try {
    const counts = new Map<string, number>();
    // Only its owner may read the file: it has hashes of keys and passwords.
    const file = exported === undefined ? undefined : openNew(exported);
    for (const missing of missingRows(folder, backup)) {
      counts.set(missing.table, (counts.get(missing.table) ?? 0) + 1);
      if (file !== undefined) writeSync(file, `${JSON.stringify(missing)}\n`);
    }
    if (file !== undefined) closeSync(file);
    report({ folder, createdAt, counts, exported });
    return 0;
  } finally {
    lock.release();
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${errorMessage(error)}`, "settings");
  }
}

interface Report {
  readonly folder: string;
  /** Of the backup. */
  readonly createdAt: string;
  readonly counts: ReadonlyMap<string, number>;
  readonly exported: string | undefined;
}

function report({ folder, createdAt, counts, exported }: Report): void {
  const rows = [...counts].map(([name, count]) => [name, String(count)]);
  if (rows.length === 0) {
    writeOutput(`The backup of ${createdAt} has every row of ${folder}.\n`);
    return;
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  writeOutput(
    `The backup of ${createdAt} lacks ${total} rows of ${folder}:\n${table([["TABLE", "ROWS"], ...rows])}\n`,
  );
  writeOutput(
    exported === undefined
      ? "--export FILE writes them as JSON lines.\n"
      : `Wrote them to ${exported}.\n`,
  );
}
