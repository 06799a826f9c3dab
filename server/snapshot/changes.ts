/** What a reload changed, for the log. */
import { isDeepStrictEqual } from "node:util";
import type { Snapshot } from "./snapshot.ts";

const parts = {
  upstreams: "upstream",
  models: "model",
  keys: "key",
  projects: "project",
  webhooks: "webhook",
} as const;
const none: ReadonlyMap<string, unknown> = new Map();

/** Such as `2 models added, 1 key removed`; empty when nothing is different. */
export function changes(before: Snapshot, after: Snapshot): string {
  const told = (Object.keys(parts) as (keyof typeof parts)[]).flatMap((part) => {
    const old: ReadonlyMap<string, unknown> = before[part] ?? none;
    const now: ReadonlyMap<string, unknown> = after[part] ?? none;
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
  return told.join(", ");
}
