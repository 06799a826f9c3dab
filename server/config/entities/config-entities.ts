/**
 * Reads and changes configuration entities at runtime. A change is validated together with the whole configuration, by
 * the code that validates the file, before it is written. Running gateways publish it within a second.
 */
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type {
  ConfigEntityStore,
  EntityKey,
  ExpectedVersion,
  JsonObject,
  StoredEntity,
} from "../../storage/ports/config-entity-store.ts";
import { composeSnapshot, type Sources } from "../load-snapshot.ts";
import { lineInFile, mergeStored } from "../merge-stored.ts";
import { describeOrigin, isReadOnly } from "../origin.ts";
import type { Snapshot } from "../snapshot.ts";
import { readStoredConfig } from "../sources/store-source.ts";
import {
  describeLeftOut,
  type LeftOutEntity,
  type StoredConfig,
} from "../sources/stored-config.ts";
import { StoredKeys } from "../stored-keys.ts";
import type { InspectFolder } from "../validate-references.ts";
import { type EntityKind, entityKinds, isEntityKind } from "./entity-kinds.ts";
import {
  encryptSecrets,
  hideSecrets,
  keepSecrets,
  secretPlaceholder,
  usesCurrentKey,
} from "./secret-fields.ts";

export interface ConfigEntitiesOptions {
  readonly store: ConfigEntityStore;
  readonly secrets: SecretBox;
  /** The other sources, as they are now. */
  readonly sources: () => Promise<Pick<Sources, "yaml" | "environment" | "embedded">>;
  readonly inspectFolder?: InspectFolder;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A change that was refused. Nothing was written. */
export class EntityRefused extends Error {
  override readonly name = "EntityRefused";
  /** Such as `targets[0].upstream`. Empty: the whole entity. */
  readonly field: string;

  constructor(message: string, field = "") {
    super(field === "" ? message : `${field}: ${message}`);
    this.field = field;
  }
}

export interface ListedEntity {
  readonly kind: EntityKind;
  readonly id: string;
  /** Such as `yaml: vexel.yaml line 12`, `environment: OPENAI_API_KEY`, `store` or `embedded`. */
  readonly origin: string;
  readonly readOnly: boolean;
  /** Of stored entities. */
  readonly version?: number;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  /** Why a stored entity is not in force. */
  readonly problem?: string;
}

export interface ReadEntity extends StoredEntity {
  readonly problem?: string;
}

export class ConfigEntities {
  readonly #options: ConfigEntitiesOptions;

  constructor(options: ConfigEntitiesOptions) {
    this.#options = options;
  }

  /** All entities in force, and stored entities that are left out, ordered by kind and id. */
  async list(): Promise<ListedEntity[]> {
    const sources = await this.#options.sources();
    const stored = await this.#stored();
    const { snapshot } = composeSnapshot(
      { ...sources, stored, storedKeys: StoredKeys.empty },
      { version: 1, now: this.#options.now(), inspectFolder: this.#options.inspectFolder },
    );
    const { leftOut } = await this.#merge(stored);
    const listed = [...provisionedEntities(snapshot), ...storedEntities(stored, leftOut)];
    return listed.sort((a, b) => compare(a.kind, b.kind) || compare(a.id, b.id));
  }

  /** A stored entity, with placeholders instead of its secrets. */
  async get(kind: string, id: string): Promise<ReadEntity | undefined> {
    const found = await this.#options.store.get({ kind: kindOf(kind), id });
    if (!found) return undefined;
    const { leftOut } = await this.#merge(await this.#stored());
    const problem = problemOf(found, leftOut);
    const value = hideSecrets(found);
    return { ...found, value, ...(problem !== undefined && { problem }) };
  }

  /**
   * Creates or replaces an entity. Rejects with EntityRefused if it is invalid or read-only, and with VersionConflict
   * if it does not have the expected version.
   */
  async put(
    kindName: string,
    id: string,
    given: JsonObject,
    expected: ExpectedVersion,
  ): Promise<StoredEntity> {
    const { store, secrets, now } = this.#options;
    const kind = kindOf(kindName);
    await this.#refuseReadOnly(kind, id);
    const before = await this.#stored();
    const value = withSecrets({ kind, id, value: withoutIdentity(kind, id, given) }, before);
    const others = before.entities.filter((entity) => entity.kind !== kind || entity.id !== id);
    const time = { version: 0, createdAt: 0, updatedAt: 0 };
    await this.#refuseInvalid(
      { entities: [...others, { kind, id, value, ...time }], leftOut: [] },
      before,
    );
    const encrypted = encryptSecrets({ kind, id, value }, secrets);
    const written = await store.put({ kind, id, value: encrypted }, expected, now());
    return { ...written, value: hideSecrets(written) };
  }

  /** False: there is no such entity. Rejects as `put` does, also if another stored entity refers to this one. */
  async delete(kindName: string, id: string, expected: ExpectedVersion): Promise<boolean> {
    const kind = kindOf(kindName);
    const before = await this.#stored();
    const entities = before.entities.filter((entity) => entity.kind !== kind || entity.id !== id);
    if (entities.length === before.entities.length) await this.#refuseReadOnly(kind, id);
    await this.#refuseInvalid({ entities, leftOut: [] }, before);
    return this.#options.store.delete({ kind, id }, expected);
  }

  /** Encrypts secrets of earlier keys with the present one. Returns how many entities were written. */
  async reencrypt(): Promise<number> {
    const { store, secrets, now } = this.#options;
    const { entities, leftOut } = await this.#stored();
    const [unreadable] = leftOut;
    if (unreadable) throw new EntityRefused(describeLeftOut(unreadable));
    let written = 0;
    for (const { kind, id, value, version } of entities) {
      const stored = await store.get({ kind, id });
      if (!stored || usesCurrentKey(stored, secrets)) continue;
      await store.put(
        { kind, id, value: encryptSecrets({ kind, id, value }, secrets) },
        version,
        now(),
      );
      written += 1;
    }
    return written;
  }

  #stored(): Promise<StoredConfig> {
    return readStoredConfig(this.#options.store, this.#options.secrets);
  }

  async #merge(stored: StoredConfig) {
    const { yaml, environment, embedded } = await this.#options.sources();
    const provisioned = { environment: environment.upstreams, embedded };
    const { inspectFolder } = this.#options;
    return mergeStored(yaml, stored, { provisioned, inspectFolder });
  }

  async #refuseReadOnly(kind: EntityKind, id: string): Promise<void> {
    const { yaml } = await this.#options.sources();
    const line = lineInFile(yaml, kind, id);
    if (line === undefined) return;
    throw new EntityRefused(
      `the ${kind} ${JSON.stringify(id)} comes from ${yaml.file} line ${line} and is read-only here: change it in the file`,
    );
  }

  /** Refuses a change that leaves out an entity which was in force before, or the changed one. */
  async #refuseInvalid(after: StoredConfig, before: StoredConfig): Promise<void> {
    const earlier = (await this.#merge(before)).leftOut;
    const added = after.entities.find((entity) => !before.entities.includes(entity));
    const isNews = (entity: LeftOutEntity): boolean =>
      (entity.kind === added?.kind && entity.id === added.id) ||
      !earlier.some(({ kind, id }) => kind === entity.kind && id === entity.id);
    const news = (await this.#merge(after)).leftOut.filter(isNews);
    const own = news.find(({ kind, id }) => kind === added?.kind && id === added.id);
    if (own) throw new EntityRefused(own.reason, own.field);
    const [other] = news;
    if (other) {
      const field = other.field === "" ? "" : `${other.field}: `;
      throw new EntityRefused(
        `the stored ${other.kind} ${JSON.stringify(other.id)} would become invalid: ${field}${other.reason}`,
      );
    }
  }
}

function kindOf(name: string): EntityKind {
  if (isEntityKind(name)) return name;
  throw new EntityRefused(
    `${JSON.stringify(name)} is no kind of entity; known: ${Object.keys(entityKinds).join(", ")}`,
  );
}

/** The id is not part of the value: it is the name under which the value is stored. */
function withoutIdentity(kind: EntityKind, id: string, value: JsonObject): JsonObject {
  const { identity } = entityKinds[kind];
  if (identity === undefined || value[identity] === undefined) return value;
  const { [identity]: given, ...rest } = value;
  if (given === id) return rest;
  throw new EntityRefused(`must be ${JSON.stringify(id)}, or absent`, identity);
}

/** Replaces placeholders by the stored secrets. */
function withSecrets(entity: EntityKey & { value: JsonObject }, before: StoredConfig): JsonObject {
  const stored = before.entities.find(({ kind, id }) => kind === entity.kind && id === entity.id);
  const value = keepSecrets(entity, stored?.value ?? {});
  if (JSON.stringify(value).includes(JSON.stringify(secretPlaceholder))) {
    throw new EntityRefused(
      `${JSON.stringify(secretPlaceholder)} stands for a stored secret, and there is none: write the secret itself`,
    );
  }
  return value;
}

function* provisionedEntities({ origins }: Snapshot): Iterable<ListedEntity> {
  for (const [key, origin] of origins ?? []) {
    const space = key.indexOf(" ");
    const kind = key.slice(0, space);
    if (!isEntityKind(kind) || !isReadOnly(origin)) continue;
    yield { kind, id: key.slice(space + 1), origin: describeOrigin(origin), readOnly: true };
  }
}

function* storedEntities(
  { entities, leftOut: unreadable }: StoredConfig,
  leftOut: readonly LeftOutEntity[],
): Iterable<ListedEntity> {
  for (const { kind, id, version, createdAt, updatedAt } of entities) {
    if (!isEntityKind(kind)) continue;
    const problem = problemOf({ kind, id }, leftOut);
    const facts = { version, createdAt, updatedAt, ...(problem !== undefined && { problem }) };
    yield { kind, id, origin: "store", readOnly: false, ...facts };
  }
  for (const { kind, id, reason } of unreadable) {
    if (isEntityKind(kind)) yield { kind, id, origin: "store", readOnly: false, problem: reason };
  }
}

function problemOf(entity: EntityKey, leftOut: readonly LeftOutEntity[]): string | undefined {
  const found = leftOut.find(({ kind, id }) => kind === entity.kind && id === entity.id);
  if (!found) return undefined;
  return found.field === "" ? found.reason : `${found.field}: ${found.reason}`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
