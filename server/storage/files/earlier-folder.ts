/**
 * Refuses a data folder with files of earlier states of Vexel, before its first release, which are not read any more.
 */
import { readdirSync } from "node:fs";
import { StoreError } from "../sqlite/open-database.ts";

const earlierName = /^(?:pictures|answers|(?:ledger|reservations|held)-\d+-[\w-]+\.journal)$/;

/** Throws StoreError, worded for the person who runs the gateway. */
export function refuseEarlierDataFolder(folder: string): void {
  const found = namesIn(folder).find((name) => earlierName.test(name));
  if (found === undefined) return;
  throw new StoreError(
    `The data folder ${folder} (VEXEL_DATA) is of an earlier state of Vexel, before its first release: it contains ${found}, which this version does not read. Start with an empty folder, or move ${found} away and do without its content.`,
  );
}

/** Empty if the folder cannot be read: the store that opens the folder reports that. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
