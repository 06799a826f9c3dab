/**
 * The name of a data folder, and how often a process has been started on it: `folder-epoch.json`. Redis has a replica's
 * ended amounts under this name, because the folder has their rows. The epoch grows with each start, and amounts of an
 * earlier epoch are replaced.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../lib/error-code.ts";
import { newReplicaId } from "../../lib/replica-id.ts";
import type { FolderEpoch } from "../redis/shared-limits.ts";

/** Starts the next epoch. The folder must be locked. */
export function startFolderEpoch(folder: string): FolderEpoch {
  const path = join(folder, "folder-epoch.json");
  const { name, epoch } = read(path) ?? { name: newReplicaId(), epoch: 0 };
  const next = { name, epoch: epoch + 1 };
  writeFileSync(`${path}.new`, JSON.stringify(next), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return next;
}

/** Undefined if there is none, or a power failure has cut it off: then the folder gets another name. */
function read(path: string): FolderEpoch | undefined {
  try {
    const { name, epoch } = JSON.parse(readFileSync(path, "utf8")) as Partial<FolderEpoch>;
    return typeof name === "string" && Number.isSafeInteger(epoch)
      ? { name, epoch: Number(epoch) }
      : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
