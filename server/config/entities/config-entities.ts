/**
 * Runtime configuration: reads and changes config entities while the gateway runs. A change is validated together with
 * the whole configuration, by the code that validates the file, before it is written. Running gateways publish it
 * within a second.
 */
import { isDeepStrictEqual } from "node:util";
import { createSerialize, runInSteps } from "../../lib/tasks.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type {
  ConfigEntityStore,
  EntityKey,
  ExpectedVersion,
  JsonObject,
  StoredEntity,
} from "../../storage/sql/config-entity-store.ts";
import type { Upstream } from "../../upstream/contract.ts";
import type { Composer, Composition, Sources } from "../build/load-snapshot.ts";
import type { ResolvedEntities } from "../build/resolve-entities.ts";
import { originKey } from "../snapshot.ts";
import {
  describeLeftOut,
  type LeftOutEntity,
  readStoredConfig,
  type StoredConfig,
} from "../sources/stored-config.ts";
import { type EntityKind, entityKinds, isEntityKind } from "./entity-kinds.ts";
import type { EntityView } from "./entity-views.ts";
import {
  encryptSecrets,
  hideSecrets,
  MissingSecret,
  restoreSecrets,
  usesCurrentKey,
} from "./secret-fields.ts";

interface ConfigEntitiesOptions {
  readonly store: ConfigEntityStore;
  readonly secrets: SecretBox;
  readonly composer: Composer;
  /** The configuration in force, with every change of the store. */
  readonly current: () => Promise<Current>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

type Current = Pick<Composition, "entities" | "leftOut"> & {
  readonly sources: Pick<Sources, "yaml" | "environment" | "stored">;
};

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

type StoredEntities = StoredConfig["entities"];

export class ConfigEntities {
  readonly #options: ConfigEntitiesOptions;
  /** One change at a time: no other change may be written between the validation of a change and its write. */
  readonly #serialize = createSerialize();

  constructor(options: ConfigEntitiesOptions) {
    this.#options = options;
  }

  /** All entities in force, and stored entities that are left out, ordered by kind and id. `kind`: only of this kind. */
  async list(kind?: EntityKind): Promise<readonly EntityView[]> {
    const { entities } = await this.#options.current();
    return entities
      .filter((view) => kind === undefined || view.kind === kind)
      .sort((a, b) => compare(a.kind, b.kind) || compare(a.id, b.id));
  }

  /** An entity of any source, or the webhook to which events are delivered under this id. */
  async find(kind: EntityKind, id: string): Promise<EntityView | undefined> {
    const { entities } = await this.#options.current();
    return entities.find((view) => view.kind === kind && (view.id === id || view.webhookId === id));
  }

  /** A stored entity, with placeholders instead of its secrets. */
  async get(kindName: string, id: string): Promise<ReadEntity | undefined> {
    const kind = kindOf(kindName);
    const found = await this.#options.store.get({ kind, id });
    if (!found) return undefined;
    const { entities } = await this.#options.current();
    const view = entities.find((each) => !each.readOnly && each.kind === kind && each.id === id);
    const problem = view?.problem;
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
      const current = await this.#options.current();
      refuseReadOnly(current, kind, id);
      const { after, value } = withEntity(current, { kind, id, value: given });
      if (after.length > maxEntities) {
        throw new EntityRefused(`the store has ${maxEntities} entities already: delete some first`);
      }
      await this.#resolveChange(current, after);
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
    const current = await this.#options.current();
    const { after } = withEntity(current, { kind: "upstream", id, value: given });
    const { upstreams } = await this.#resolveChange(current, after);
    const found = upstreams.get(id);
    if (found) return found;
    throw new EntityRefused(`the upstream ${JSON.stringify(id)} is invalid`);
  }

  /** False: there is no such entity. Rejects as `put` does, or with EntityInUse if stored entities refer to this one. */
  delete(kindName: string, id: string, expected: ExpectedVersion): Promise<boolean> {
    return this.#serialize(async () => {
      const kind = kindOf(kindName);
      const current = await this.#options.current();
      const { entities } = current.sources.stored;
      const after = entities.filter((entity) => entity.kind !== kind || entity.id !== id);
      if (after.length === entities.length) refuseReadOnly(current, kind, id);
      const { leftOut } = await this.#resolve(current, after);
      const usedBy = newlyLeftOut(current, leftOut).map((each) => ({
        kind: each.kind,
        id: each.id,
      }));
      if (usedBy.length > 0) throw new EntityInUse(usedBy);
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
      const { entities, leftOut } = await readStoredConfig(store, secrets);
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

  #resolve({ sources }: Current, stored: StoredEntities): Promise<ResolvedEntities> {
    return runInSteps(this.#options.composer.resolve(sources, stored));
  }

  /** Refuses a change after which the changed entity, or one that was in force before, would be left out. */
  async #resolveChange(current: Current, after: StoredEntities): Promise<ResolvedEntities> {
    const resolved = await this.#resolve(current, after);
    const added = after.at(-1);
    const isAdded = (entity: EntityKey): boolean =>
      entity.kind === added?.kind && entity.id === added.id;
    const own = resolved.leftOut.find(isAdded);
    if (own) throw new EntityRefused(own.reason, own.field);
    const [other] = newlyLeftOut(current, resolved.leftOut);
    if (!other) return resolved;
    const field = other.field === "" ? "" : `${other.field}: `;
    throw new EntityRefused(
      `the stored ${other.kind} ${JSON.stringify(other.id)} would become invalid: ${field}${other.reason}`,
    );
  }
}

/** The entities that were in force. */
function newlyLeftOut(
  { leftOut }: Current,
  after: readonly LeftOutEntity[],
): readonly LeftOutEntity[] {
  const before = new Set(leftOut.map(({ kind, id }) => `${kind} ${id}`));
  return after.filter(({ kind, id }) => !before.has(`${kind} ${id}`));
}

function refuseReadOnly({ sources: { yaml } }: Current, kind: EntityKind, id: string): void {
  const entry = kind === "webhook" ? undefined : yaml.entries.get(originKey(kind, id));
  if (!entry) return;
  throw new EntityRefused(
    `the ${kind} ${JSON.stringify(id)} comes from ${yaml.file} line ${entry.line} and is read-only here: change it in the file`,
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

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

/** The stored entities with this one, which is the last, and its value with stored secrets instead of placeholders. */
function withEntity(
  { sources: { stored } }: Current,
  { kind, id, value: given }: { kind: EntityKind; id: string; value: JsonObject },
): { after: StoredEntities; value: JsonObject } {
  const isSame = (entity: EntityKey): boolean => entity.kind === kind && entity.id === id;
  const entity = { kind, id, value: withoutIdentity(kind, id, given) };
  const value = withSecrets(entity, stored.entities.find(isSame));
  const others = stored.entities.filter((each) => !isSame(each));
  const after = [...others, { ...entity, value, version: 0, createdAt: 0, updatedAt: 0 }];
  return { after, value };
}

function withSecrets(
  entity: EntityKey & { value: JsonObject },
  stored: StoredEntity | undefined,
): JsonObject {
  try {
    const value = restoreSecrets(entity, stored?.value ?? {});
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
