/** The entities of all sources as people see them: with their origin, and with masks instead of secrets. */
import type { EntityKey, JsonObject } from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { type EntityOrigin, isReadOnly, type Model, type Snapshot } from "../snapshot.ts";
import type { LeftOutEntity, StoredConfig } from "../sources/stored-config.ts";
import { webhookId } from "../validate/webhooks.ts";
import type { YamlConfig } from "../yaml/read-yaml.ts";
import { type EntityKind, entityKinds, isEntityKind } from "./entity-kinds.ts";
import { maskSecrets } from "./secret-fields.ts";

export interface EntityView {
  readonly kind: EntityKind;
  /** Of a webhook of the file: derived from its URL. */
  readonly id: string;
  readonly origin: EntityOrigin;
  readonly readOnly: boolean;
  /** As an entry of vexel.yaml without its id. Secrets are masked. Empty if the secrets cannot be decrypted. */
  readonly value: JsonObject;
  /** Of a webhook: the id under which its events are delivered, derived from its URL. */
  readonly webhookId?: string;
  /** Of stored entities. */
  readonly version?: number;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  /** Why a stored entity is not in force. */
  readonly problem?: string;
}

interface EntityViewSources {
  readonly yaml: YamlConfig;
  readonly snapshot: Snapshot;
  readonly stored: StoredConfig;
  /** The stored entities that are not in force. */
  readonly leftOut: readonly LeftOutEntity[];
}

/** Ordered by kind and id. */
export function entityViews({
  yaml,
  snapshot,
  stored,
  leftOut,
}: EntityViewSources): readonly EntityView[] {
  const views = [...provisionedEntities(yaml, snapshot), ...storedEntities(stored, leftOut)];
  return views.sort((a, b) => compare(a.kind, b.kind) || compare(a.id, b.id));
}

function* provisionedEntities(yaml: YamlConfig, snapshot: Snapshot): Iterable<EntityView> {
  const inFile = valuesInFile(yaml);
  for (const [key, origin] of snapshot.origins ?? []) {
    const space = key.indexOf(" ");
    const kind = key.slice(0, space);
    if (!isEntityKind(kind) || !isReadOnly(origin)) continue;
    const id = key.slice(space + 1);
    const value = origin.source === "yaml" ? inFile.get(key) : provisionedValue(snapshot, kind, id);
    yield { ...valueView({ kind, id, value: value ?? {} }), origin, readOnly: true };
  }
}

/** `value`: with its secrets in plain text. */
function valueView({ kind, id, value }: { kind: EntityKind; id: string; value: JsonObject }) {
  const { url } = value;
  return {
    kind,
    id,
    value: maskSecrets({ kind, id, value }),
    ...(kind === "webhook" && typeof url === "string" && { webhookId: webhookId(url) }),
  };
}

/** The values of the file's entries, by kind and id as in `Snapshot.origins`. */
function valuesInFile({ raw }: YamlConfig): ReadonlyMap<string, JsonObject> {
  const lists = raw as Readonly<Record<string, readonly JsonObject[] | undefined>>;
  const found = new Map<string, JsonObject>();
  for (const [kind, { list, identity }] of Object.entries(entityKinds)) {
    for (const entry of lists[list] ?? []) {
      const { [identity ?? ""]: name, ...value } = entry;
      found.set(`${kind} ${identity === undefined ? webhookId(String(entry.url)) : name}`, value);
    }
  }
  return found;
}

function provisionedValue(snapshot: Snapshot, kind: EntityKind, id: string): JsonObject {
  const upstream = kind === "upstream" ? snapshot.upstreams.get(id) : undefined;
  if (upstream) return upstreamValue(upstream);
  const model = kind === "model" ? snapshot.models.get(id) : undefined;
  return model ? modelValue(model) : {};
}

const upstreamValue = ({ kind, baseUrl, apiKey, options }: Upstream): JsonObject => ({
  kind,
  ...(baseUrl !== undefined && { baseUrl }),
  ...(apiKey !== undefined && { apiKey }),
  ...options,
});

const modelValue = ({ kind, description, targets }: Model): JsonObject => ({
  kind,
  ...(description !== undefined && { description }),
  targets: targets.map(({ upstream, model }) => ({ upstream: upstream.id, model })),
});

function* storedEntities(
  { entities, leftOut: unreadable }: StoredConfig,
  leftOut: readonly LeftOutEntity[],
): Iterable<EntityView> {
  const shared = { origin: { source: "store" }, readOnly: false } as const;
  for (const { kind, id, value, version, createdAt, updatedAt } of entities) {
    if (!isEntityKind(kind)) continue;
    const problem = problemOf({ kind, id }, leftOut);
    const facts = { version, createdAt, updatedAt, ...(problem !== undefined && { problem }) };
    yield { ...valueView({ kind, id, value }), ...shared, ...facts };
  }
  for (const { kind, id, reason } of unreadable) {
    if (isEntityKind(kind)) yield { kind, id, ...shared, value: {}, problem: reason };
  }
}

export function problemOf(
  entity: EntityKey,
  leftOut: readonly LeftOutEntity[],
): string | undefined {
  const found = leftOut.find(({ kind, id }) => kind === entity.kind && id === entity.id);
  if (!found) return undefined;
  return found.field === "" ? found.reason : `${found.field}: ${found.reason}`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
