/** The kinds of configuration entities that the store can hold, and the list of `vexel.yaml` that each belongs to. */
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";

/** `identity`: the member of an entry that is its id. If absent, entries of this list have none in the file. */
export const entityKinds = {
  upstream: { list: "upstreams", identity: "id" },
  model: { list: "models", identity: "id" },
  project: { list: "projects", identity: "name" },
  webhook: { list: "webhooks", identity: undefined },
  alert: { list: "alerts", identity: "name" },
} as const;

export type EntityKind = keyof typeof entityKinds;

export const isEntityKind = (kind: string): kind is EntityKind => Object.hasOwn(entityKinds, kind);

/** The entity as an entry of its list in `vexel.yaml`. */
export function fileEntry(kind: EntityKind, id: string, value: JsonObject): JsonObject {
  const { identity } = entityKinds[kind];
  return identity === undefined ? value : { ...value, [identity]: id };
}
