/** Data folder migration: gives subfolders of earlier versions their present names, so that stored files are found. */
import { existsSync, readdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../sqlite/open-database.ts";

/** The old name, the present one. */
const renamedFolders = [
  ["pictures", "images"],
  ["answers", "responses"],
] as const;

/** The folder must be locked. Throws StoreError, worded for the person who runs the gateway. */
export function migrateDataFolder(folder: string): void {
  for (const [oldName, newName] of renamedFolders) {
    const [from, to] = [join(folder, oldName), join(folder, newName)];
    try {
      if (!existsSync(from)) continue;
      if (existsSync(to)) moveFiles(from, to);
      else renameSync(from, to);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StoreError(
        `${from} of an earlier version cannot be renamed to ${to}: ${reason}. Move its files there, and remove ${from}.`,
        { cause },
      );
    }
  }
}

/** Both exist after an earlier version was run again in between. File names are random, so none occurs in both. */
function moveFiles(from: string, to: string): void {
  for (const name of readdirSync(from)) renameSync(join(from, name), join(to, name));
  rmdirSync(from);
}
