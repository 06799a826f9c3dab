/** The changes between two config snapshots. */
import { isDeepStrictEqual } from "node:util";
import type { Snapshot } from "../snapshot.ts";
import type { YamlConfig } from "../yaml/read-config.ts";

/** Whether entries are on other lines of the file. */
export const haveMoved = (before: YamlConfig, after: YamlConfig): boolean =>
  before !== after &&
  after.entries.entries().some(([key, { line }]) => before.entries.get(key)?.line !== line);

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
  if (part === "keys") return snapshot.fileKeys ?? none;
  return snapshot[part] ?? none;
}

const comparedOfStep = 200;

/**
 * Describes the changes of a config reload for the log, such as `2 models added, 1 key removed`. Empty: nothing has
 * changed. In steps.
 */
export function* describeChanges(before: Snapshot, after: Snapshot): Generator<void, string> {
  const changes: string[] = [];
  for (const part of Object.keys(parts) as (keyof typeof parts)[]) {
    const counts = yield* countChanges(entriesOf(before, part), entriesOf(after, part));
    for (const [what, count] of Object.entries(counts))
      if (count > 0) changes.push(`${count} ${parts[part]}${count === 1 ? "" : "s"} ${what}`);
  }
  return changes.join(", ");
}

type Entries = ReadonlyMap<string, unknown>;

function* countChanges(before: Entries, after: Entries) {
  const counts = { added: 0, removed: 0, changed: 0 };
  // Most parts, and most of their entries, are the same objects.
  if (before === after) return counts;
  for (const id of before.keys()) if (!after.has(id)) counts.removed++;
  let compared = 0;
  for (const [id, value] of after) {
    const old = before.get(id);
    if (old === value) continue;
    if (old === undefined) counts.added++;
    else if (!isDeepStrictEqual(value, old)) counts.changed++;
    if (++compared % comparedOfStep === 0) yield;
  }
  return counts;
}
