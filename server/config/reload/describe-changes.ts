/** The changes between two config snapshots. */
import { isDeepStrictEqual } from "node:util";
import { configuredKeys, type Snapshot } from "../snapshot.ts";

/** Whether entries come from another place, such as another line of the file. */
export const haveMoved = (before: Snapshot, after: Snapshot): boolean =>
  !isDeepStrictEqual([...(before.origins ?? [])], [...(after.origins ?? [])]);

const parts = {
  upstreams: "upstream",
  models: "model",
  keys: "key",
  projects: "project",
  webhooks: "webhook",
  alerts: "alert",
  defaults: "default",
} as const;
const none: ReadonlyMap<string, object> = new Map();

function entriesOf(snapshot: Snapshot, part: keyof typeof parts): ReadonlyMap<string, unknown> {
  if (part === "defaults") return new Map(Object.entries(snapshot.defaults ?? {}));
  // Stored keys change on their own, and those changes are logged elsewhere.
  if (part === "keys") return configuredKeys(snapshot);
  return snapshot[part] ?? none;
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
