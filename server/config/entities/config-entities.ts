/**
 * Runtime configuration: reads and changes config entities while the gateway runs. A change is validated together with
 * the whole configuration, by the code that validates the file, before it is written. Running gateways publish it
 * within a second.
 */
import { isDeepStrictEqual } from "node:util";
import { createSerialize } from "../../lib/tasks.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type {
  ConfigEntityStore,
  EntityKey,
  ExpectedVersion,
  JsonObject,
  StoredEntity,
} from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { composeSnapshot, type Sources } from "../build/load-snapshot.ts";
import { lineInFile, mergeStored } from "../build/merge-stored.ts";
import { StoredKeys } from "../build/stored-keys.ts";
import {
  describeLeftOut,
  type LeftOutEntity,
  readStoredConfig,
  type StoredConfig,
} from "../sources/stored-config.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import { type EntityKind, entityKinds, isEntityKind } from "./entity-kinds.ts";
import { type EntityView, entityViews, problemOf } from "./entity-views.ts";
import {
  encryptSecrets,
  hideSecrets,
  keepSecrets,
  MissingSecret,
  usesCurrentKey,
} from "./secret-fields.ts";

interface ConfigEntitiesOptions {
  readonly store: ConfigEntityStore;
  readonly secrets: SecretBox;
  /** The other sources, as they are now. */
  readonly sources: () => Promise<Pick<Sources, "yaml" | "environment">>;
  readonly inspectFolder?: InspectFolder;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A change that was refused. Nothing was written. */
export class EntityRefused extends Error {
  override readonly name = "EntityRefused";
  /** Such as `targets[0].upstream`. Empty: the whole entity. */
  readonly field: string;
  readonly reason: string;

  constructor(reason: string, field = "") {
    super(field === "" ? reason : `${field}: ${reason}`);
    this.field = field;
    this.reason = reason;
  }
}

/** Other stored entities refer to the entity, so it is not deleted. */
export class EntityInUse extends EntityRefused {
  readonly usedBy: readonly EntityKey[];

  constructor(usedBy: readonly EntityKey[]) {
    const names = usedBy.map(({ kind, id }) => `the ${kind} ${JSON.stringify(id)}`);
    super(`it is used by ${names.join(", ")}: change or delete what uses it first`);
    this.usedBy = usedBy;
  }
}

interface ReadEntity extends StoredEntity {
  readonly problem?: string;
}

/** The most stored entities. */
const maxEntities = 10_000;

export class ConfigEntities {
  readonly #options: ConfigEntitiesOptions;
  /** One change at a time: no other change may be written between the validation of a change and its write. */
  readonly #serialize = createSerialize();

  constructor(options: ConfigEntitiesOptions) {
    this.#options = options;
  }

  /** All entities in force, and stored entities that are left out, ordered by kind and id. */
  async list(): Promise<readonly EntityView[]> {
    const sources = await this.#options.sources();
    const stored = await this.#stored();
    const { inspectFolder, now } = this.#options;
    const { snapshot } = composeSnapshot(
      { ...sources, stored, storedKeys: StoredKeys.empty },
      { version: 1, now: now(), inspectFolder },
    );
    const { leftOut } = await this.#merge(stored);
    return entityViews({ yaml: sources.yaml, snapshot, stored, leftOut });
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
  put(
    kindName: string,
    id: string,
    given: JsonObject,
    expected: ExpectedVersion,
  ): Promise<StoredEntity> {
    const { store, secrets, now } = this.#options;
    return this.#serialize(async () => {
      const kind = kindOf(kindName);
      await this.#refuseReadOnly(kind, id);
      const before = await this.#stored();
      const value = withSecrets({ kind, id, value: withoutIdentity(kind, id, given) }, before);
      const after = withEntity(before, { kind, id, value });
      if (after.entities.length > maxEntities) {
        throw new EntityRefused(`the store has ${maxEntities} entities already: delete some first`);
      }
      await this.#refuseInvalid(after, before);
      const encrypted = encryptSecrets({ kind, id, value }, secrets);
      const written = await store.put({ kind, id, value: encrypted }, expected, now());
      return { ...written, value: hideSecrets(written) };
    });
  }

  /**
   * An upstream as it would be in force, without writing it. Rejects as `put` does. `id` of a stored upstream:
   * placeholders stand for its secrets.
   */
  async draftUpstream(id: string, given: JsonObject): Promise<Upstream> {
    const before = await this.#stored();
    const kind = "upstream";
    const value = withSecrets({ kind, id, value: withoutIdentity(kind, id, given) }, before);
    const after = withEntity(before, { kind, id, value });
    await this.#refuseInvalid(after, before);
    const { config } = await this.#merge(after);
    const found = config.upstreams.find((upstream) => upstream.id === id);
    if (found) return found;
    throw new EntityRefused(`the ${kind} ${JSON.stringify(id)} is invalid`);
  }

  /** False: there is no such entity. Rejects as `put` does, or with EntityInUse if stored entities refer to this one. */
  delete(kindName: string, id: string, expected: ExpectedVersion): Promise<boolean> {
    return this.#serialize(async () => {
      const kind = kindOf(kindName);
      const before = await this.#stored();
      const entities = before.entities.filter((entity) => entity.kind !== kind || entity.id !== id);
      if (entities.length === before.entities.length) await this.#refuseReadOnly(kind, id);
      const usedBy = await this.#newlyLeftOut({ entities, leftOut: [] }, before);
      if (usedBy.length > 0) throw new EntityInUse(usedBy.map(({ kind, id }) => ({ kind, id })));
      return this.#options.store.delete({ kind, id }, expected);
    });
  }

  /**
   * Encrypts secrets again, with the current key, that are encrypted with an earlier one. Returns how many entities
   * were written.
   */
  reencrypt(): Promise<number> {
    const { store, secrets, now } = this.#options;
    return this.#serialize(async () => {
      const { entities, leftOut } = await this.#stored();
      const [unreadable] = leftOut;
      if (unreadable) throw new EntityRefused(describeLeftOut(unreadable));
      let written = 0;
      for (const { kind, id, value, version } of entities) {
        const stored = await store.get({ kind, id });
        if (!stored || usesCurrentKey(stored, secrets)) continue;
        const encrypted = encryptSecrets({ kind, id, value }, secrets);
        await store.put({ kind, id, value: encrypted }, version, now());
        written += 1;
      }
      return written;
    });
  }

  #stored(): Promise<StoredConfig> {
    return readStoredConfig(this.#options.store, this.#options.secrets);
  }

  async #merge(stored: StoredConfig) {
    const { yaml, environment } = await this.#options.sources();
    const { inspectFolder } = this.#options;
    return mergeStored(yaml, stored, { provisioned: environment.upstreams, inspectFolder });
  }

  async #refuseReadOnly(kind: EntityKind, id: string): Promise<void> {
    const { yaml } = await this.#options.sources();
    const line = lineInFile(yaml, kind, id);
    if (line === undefined) return;
    throw new EntityRefused(
      `the ${kind} ${JSON.stringify(id)} comes from ${yaml.file} line ${line} and is read-only here: change it in the file`,
    );
  }

  /** The entities that a change would leave out: those in force before, and the one that was added. */
  async #newlyLeftOut(
    after: StoredConfig,
    before: StoredConfig,
    added?: EntityKey,
  ): Promise<readonly LeftOutEntity[]> {
    const leftOutBefore = (await this.#merge(before)).leftOut;
    const isNew = (entity: LeftOutEntity): boolean =>
      (entity.kind === added?.kind && entity.id === added.id) ||
      !leftOutBefore.some(({ kind, id }) => kind === entity.kind && id === entity.id);
    return (await this.#merge(after)).leftOut.filter(isNew);
  }

  /** Refuses a change after which the changed entity, or one that was in force before, would be left out. */
  async #refuseInvalid(after: StoredConfig, before: StoredConfig): Promise<void> {
    const added = after.entities.find((entity) => !before.entities.includes(entity));
    const newlyLeftOut = await this.#newlyLeftOut(after, before, added);
    const own = newlyLeftOut.find(({ kind, id }) => kind === added?.kind && id === added.id);
    if (own) throw new EntityRefused(own.reason, own.field);
    const [other] = newlyLeftOut;
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
    `${JSON.stringify(name)} is not a kind of entity; known: ${Object.keys(entityKinds).join(", ")}`,
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
  try {
    const value = keepSecrets(entity, stored?.value ?? {});
    if (stored && !isDeepStrictEqual(value, entity.value)) refuseOtherHost(value, stored.value);
    return value;
  } catch (error) {
    throw error instanceof MissingSecret ? new EntityRefused(error.message, error.field) : error;
  }
}

/** The members of an upstream that decide where its secrets are sent. */
const addressMembers = ["kind", "baseUrl", "authUrl", "iamUrl"] as const;

/** A stored secret is write-only. Without this check, an editor could send it to a server of their own and read it. */
function refuseOtherHost(after: JsonObject, before: JsonObject): void {
  const changed = addressMembers.find((name) => hostOf(after[name]) !== hostOf(before[name]));
  if (changed === undefined) return;
  throw new EntityRefused(
    "differs from the stored value, so the stored credentials are not sent there: enter the credentials again",
    changed,
  );
}

const hostOf = (value: unknown): unknown =>
  typeof value === "string" && URL.canParse(value) ? new URL(value).origin : value;

function withEntity({ entities }: StoredConfig, added: EntityKey & { value: JsonObject }) {
  const others = entities.filter(({ kind, id }) => kind !== added.kind || id !== added.id);
  const time = { version: 0, createdAt: 0, updatedAt: 0 };
  return { entities: [...others, { ...added, ...time }], leftOut: [] };
}
