/** Publishes a new config snapshot, unless it equals the current one. */
import { isDeepStrictEqual } from "node:util";
import { describeChanges } from "./describe-changes.ts";
import type { Snapshot } from "./snapshot.ts";
import type { SnapshotHolder } from "./snapshot-holder.ts";

/** Returns what has changed, such as `2 models added`. Empty: nothing that requests depend on. */
export function publishChanges(holder: SnapshotHolder, snapshot: Snapshot): string {
  const before = holder.current();
  const changes = describeChanges(before, snapshot);
  // Entries may have moved to another line of the file.
  const hasMoved = !isDeepStrictEqual(entriesOf(before.origins), entriesOf(snapshot.origins));
  if (changes !== "" || hasMoved) holder.replace(() => snapshot);
  return changes;
}

const entriesOf = (origins: Snapshot["origins"]) => [...(origins ?? [])];
