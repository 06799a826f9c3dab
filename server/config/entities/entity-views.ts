/** The entities of all sources as people see them: with their origin, and with masks instead of secrets. */
import type { JsonObject, StoredEntity } from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import type { ResolvedEntities } from "../build/resolve-entities.ts";
import type { EntityOrigin, Model } from "../snapshot.ts";
import type { LeftOutEntity, StoredConfig } from "../sources/stored-config.ts";
import { webhookId } from "../validate/webhooks.ts";
import type { FileEntry, YamlConfig } from "../yaml/read-config.ts";
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
  readonly entities: ResolvedEntities;
  readonly stored: StoredConfig;
}

const viewsOfStep = 500;
const store = { origin: { source: "store" }, readOnly: false } as const;

/** As long as an entity stays the same object, so does its view. */
export class EntityViews {
  readonly #inFile = new WeakMap<FileEntry["raw"], EntityView>();
  readonly #provisioned = new WeakMap<Upstream | Model, EntityView>();
  readonly #stored = new WeakMap<StoredEntity, EntityView>();

  /** In steps. */
  *of(sources: EntityViewSources): Generator<void, readonly EntityView[]> {
    const views: EntityView[] = [];
    for (const view of this.#views(sources)) if (views.push(view) % viewsOfStep === 0) yield;
    return views;
  }

  *#views({ yaml, entities, stored }: EntityViewSources): Generator<EntityView> {
    for (const { kind, id, line, raw } of yaml.entries.values())
      if (kind !== "key") yield this.#viewInFile(kind, id, `${yaml.file} line ${line}`, raw);
    for (const [key, origin] of entities.provisioned) {
      const [kind, id = ""] = key.split(" ");
      const entity = kind === "upstream" ? entities.upstreams.get(id) : entities.models.get(id);
      if (entity) yield this.#provisionedView(entity, origin);
    }
    const problems = problemsOf(entities.leftOut);
    for (const entity of stored.entities) {
      const { kind, id } = entity;
      if (isEntityKind(kind)) yield this.#storedView(kind, entity, problems.get(`${kind} ${id}`));
    }
    for (const { kind, id, reason } of stored.leftOut)
      if (isEntityKind(kind)) yield { kind, id, ...store, value: {}, problem: reason };
  }

  #viewInFile(kind: EntityKind, id: string, location: string, raw: JsonObject): EntityView {
    const known = this.#inFile.get(raw);
    if (known?.origin.location === location) return known;
    const { [entityKinds[kind].identity ?? ""]: _, ...value } = raw;
    const origin = { source: "yaml", location } as const;
    const view = { ...valueView({ kind, id, value }), origin, readOnly: true };
    this.#inFile.set(raw, view);
    return view;
  }

  #provisionedView(entity: Upstream | Model, origin: EntityOrigin): EntityView {
    const known = this.#provisioned.get(entity);
    if (known) return known;
    const kind = "targets" in entity ? "model" : "upstream";
    const value = "targets" in entity ? modelValue(entity) : upstreamValue(entity);
    const view = { ...valueView({ kind, id: entity.id, value }), origin, readOnly: true };
    this.#provisioned.set(entity, view);
    return view;
  }

  #storedView(kind: EntityKind, entity: StoredEntity, problem: string | undefined): EntityView {
    const known = this.#stored.get(entity);
    if (known && known.problem === problem) return known;
    const { id, value, version, createdAt, updatedAt } = entity;
    const facts = { version, createdAt, updatedAt, ...(problem !== undefined && { problem }) };
    const view = { ...valueView({ kind, id, value }), ...store, ...facts };
    this.#stored.set(entity, view);
    return view;
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

function problemsOf(leftOut: readonly LeftOutEntity[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const { kind, id, field, reason } of leftOut)
    problems.set(`${kind} ${id}`, field === "" ? reason : `${field}: ${reason}`);
  return problems;
}
