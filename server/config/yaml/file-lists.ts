/** The lists of `vexel.yaml`, and what its parser does to every value. The thread that parses it loads nothing else. */
import type { OriginKind } from "../snapshot.ts";

/** By the kind of their entries. */
export const listsOfFile = {
  upstream: "upstreams",
  model: "models",
  project: "projects",
  webhook: "webhooks",
  alert: "alerts",
  key: "keys",
} as const satisfies Record<OriginKind, string>;

export type ListName = (typeof listsOfFile)[OriginKind];

/** How deeply the schema of the file is nested. */
export const fileDepth = 6;

/** A key without a value counts as absent. `depth`: how deeply the schema is nested. */
export function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => withoutNulls(entry, depth - 1));
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member, depth - 1)]));
}
