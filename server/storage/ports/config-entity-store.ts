/**
 * Port: configuration entities that are edited at runtime, as JSON. Versions are compared on every write (optimistic
 * locking), so that two editors do not overwrite each other.
 */
import type { PageRequest, StoredPage } from "./page.ts";

export type JsonObject = { readonly [name: string]: unknown };

export interface EntityKey {
  readonly kind: string;
  readonly id: string;
}

export interface StoredEntity extends EntityKey {
  readonly value: JsonObject;
  /** Grows with every write to the store. It is never used again, not even after the entity was deleted and created. */
  readonly version: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The entity has another version than the writer expects. */
export class VersionConflict extends Error {
  override readonly name = "VersionConflict";
  /** 0: the entity does not exist. */
  readonly version: number;

  constructor({ kind, id }: EntityKey, version: number) {
    super(
      version === 0
        ? `there is no ${kind} ${JSON.stringify(id)}`
        : `the ${kind} ${JSON.stringify(id)} has version ${version}`,
    );
    this.version = version;
  }
}

/** The version that a writer expects. 0: the entity must not exist. Undefined: any version, or none. */
export type ExpectedVersion = number | undefined;

/** Every method rejects once the store is closed. */
export interface ConfigEntityStore {
  get(key: EntityKey): Promise<StoredEntity | undefined>;
  /** All entities, ordered by kind and id. */
  list(page: PageRequest): Promise<StoredPage<StoredEntity>>;
  /** Rejects with VersionConflict. `at`: Unix milliseconds. */
  put(
    entity: EntityKey & { readonly value: JsonObject },
    expected: ExpectedVersion,
    at: number,
  ): Promise<StoredEntity>;
  /** False: there was no such entity, and none was expected. Rejects with VersionConflict. */
  delete(key: EntityKey, expected: ExpectedVersion): Promise<boolean>;
  /** Changes with every write and delete of any process. 0: there was none. */
  revision(): Promise<number>;
  close(): Promise<void>;
}
