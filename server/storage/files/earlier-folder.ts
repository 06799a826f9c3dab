/** Refuses a data folder with files of earlier states of Vexel, before its first release, which are not read any more. */
import { readdirSync, statSync } from "node:fs";
import { StoreError } from "../sqlite/open-database.ts";

const earlierName = /^(?:pictures|answers|(?:ledger|reservations|held)-\d+-[\w-]+\.journal)$/;

/** Throws StoreError, worded for the person who runs the gateway. */
export function refuseEarlierDataFolder(folder: string): void {
  // Without a folder there is nothing to refuse: the store that opens it reports other problems.
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const found = readdirSync(folder).find((name) => earlierName.test(name));
  if (found === undefined) return;
  throw new StoreError(
    `The data folder ${folder} (VEXEL_DATA) is of an earlier state of Vexel, before its first release: it contains ${found}, which this version does not read. Start with an empty folder, or move ${found} away and do without its content.`,
  );
}
