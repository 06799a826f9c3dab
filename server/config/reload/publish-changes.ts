/** Publishes a new config snapshot, unless it equals the current one. */

import { isDeepStrictEqual } from "node:util";
import { KeyMap } from "../build/key-map.ts";
import type { Snapshot } from "../snapshot.ts";
import type { SnapshotHolder } from "./snapshot-holder.ts";

/** Returns the changes, such as `2 models added`. Empty: nothing has changed that requests depend on. */
export function publishChanges(holder: SnapshotHolder, snapshot: Snapshot): string {
  const before = holder.current();
  const changes = describeChanges(before, snapshot);
  // Entries may have moved to another line of the file.
  const hasMoved = !isDeepStrictEqual(originsOf(before), originsOf(snapshot));
  if (changes !== "" || hasMoved) holder.replace(() => snapshot);
  return changes;
}

const originsOf = ({ origins }: Snapshot) => [...(origins ?? [])];

const parts = {
  upstreams: "upstream",
  models: "model",
  keys: "key",
  projects: "project",
  webhooks: "webhook",
  defaults: "default",
} as const;
const none: ReadonlyMap<string, object> = new Map();

function entriesOf(snapshot: Snapshot, part: keyof typeof parts): ReadonlyMap<string, unknown> {
  if (part === "defaults") return new Map(Object.entries(snapshot.defaults ?? {}));
  const entries = snapshot[part] ?? none;
  // Without stored keys: they change on their own, and those changes are logged elsewhere.
  return entries instanceof KeyMap ? entries.configured : entries;
}

/**
 * Describes the changes of a config reload for the log, such as `2 models added, 1 key removed`. Empty: nothing has
 * changed.
 */
export function describeChanges(before: Snapshot, after: Snapshot): string {
  const changes = (Object.keys(parts) as (keyof typeof parts)[]).flatMap((part) => {
    const old = entriesOf(before, part);
    const now = entriesOf(after, part);
    const counts = {
      added: [...now.keys()].filter((id) => !old.has(id)).length,
      removed: [...old.keys()].filter((id) => !now.has(id)).length,
      changed: [...now].filter(
        ([id, value]) => old.has(id) && !isDeepStrictEqual(value, old.get(id)),
      ).length,
    };
    return Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} ${parts[part]}${count === 1 ? "" : "s"} ${what}`);
  });
  return changes.join(", ");
}
