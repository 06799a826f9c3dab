/**
 * Configuration entities that are edited at runtime, as JSON in a SQL database. Versions are compared on every write
 * (optimistic locking), so that two editors do not overwrite each other.
 */

import type { Queries, SqlDatabase, SqlInteger } from "./database.ts";
import { nextRevision, readRevision } from "./revisions.ts";

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

export interface EntityChanges {
  readonly changed: readonly StoredEntity[];
  /** Of all entities. */
  readonly count: number;
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

/** The version that a writer expects. 0: the entity must not exist. Undefined for any version, or none. */
export type ExpectedVersion = number | undefined;

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly value: string;
  readonly version: SqlInteger;
  readonly created_at: SqlInteger;
  readonly updated_at: SqlInteger;
}

/** Every method rejects once the store is closed. */
export const createConfigEntityStore = (db: SqlDatabase) => ({
  get: (key: EntityKey): Promise<StoredEntity | undefined> => find(db, key),

  /** All entities, ordered by kind and id. */
  async list(): Promise<readonly StoredEntity[]> {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.config_entities ORDER BY kind, id");
    return rows.map(entityOf);
  },

  /** The entities with a later version, and how many entities there are: fewer than expected if some were deleted. */
  async changesSince(version: number): Promise<EntityChanges> {
    const changed = await db.query<Row>(
      "SELECT * FROM vexel.config_entities WHERE version > $1 ORDER BY kind, id",
      [version],
    );
    const all = await db.query<{ count: SqlInteger }>(
      "SELECT count(*) AS count FROM vexel.config_entities",
    );
    return { changed: changed.rows.map(entityOf), count: Number(all.rows[0]?.count) };
  },

  /** The kinds and ids of all entities. */
  async keys(): Promise<readonly EntityKey[]> {
    const { rows } = await db.query<EntityKey>("SELECT kind, id FROM vexel.config_entities");
    return rows;
  },

  /** Rejects with VersionConflict. `at`: Unix milliseconds. */
  put: (
    { kind, id, value }: EntityKey & { readonly value: JsonObject },
    expected: ExpectedVersion,
    at: number,
  ): Promise<StoredEntity> =>
    db.transaction(async (queries) => {
      // First: it locks the counter, so that two writers compare versions one after the other.
      const version = await nextRevision(queries, "config");
      const before = await findExpected(queries, { kind, id }, expected);
      const createdAt = before?.createdAt ?? at;
      await queries.query(
        `INSERT INTO vexel.config_entities (kind, id, value, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (kind, id) DO UPDATE SET value = $3, version = $4, updated_at = $6`,
        [kind, id, JSON.stringify(value), version, createdAt, at],
      );
      return { kind, id, value, version, createdAt, updatedAt: at };
    }),

  /** False: there was no such entity, and none was expected. Rejects with VersionConflict. */
  async delete(key: EntityKey, expected: ExpectedVersion): Promise<boolean> {
    try {
      await db.transaction(async (queries) => {
        await nextRevision(queries, "config");
        if (!(await findExpected(queries, key, expected))) throw new NothingDeleted();
        await queries.query("DELETE FROM vexel.config_entities WHERE kind = $1 AND id = $2", [
          key.kind,
          key.id,
        ]);
      });
      return true;
    } catch (error) {
      if (error instanceof NothingDeleted) return false;
      throw error;
    }
  },

  /** Changes with every write and delete of any process. 0: there was none. */
  revision: (): Promise<number> => readRevision(db, "config"),
  close: (): Promise<void> => db.close(),
});

export type ConfigEntityStore = ReturnType<typeof createConfigEntityStore>;

/** Rolls the transaction back, so that the revision does not change. */
class NothingDeleted extends Error {}

/** The entity, if it has the expected version. */
async function findExpected(
  db: Queries,
  key: EntityKey,
  expected: ExpectedVersion,
): Promise<StoredEntity | undefined> {
  const found = await find(db, key);
  const version = found?.version ?? 0;
  if (expected !== undefined && expected !== version) throw new VersionConflict(key, version);
  return found;
}

async function find(db: Queries, { kind, id }: EntityKey): Promise<StoredEntity | undefined> {
  const { rows } = await db.query<Row>(
    "SELECT * FROM vexel.config_entities WHERE kind = $1 AND id = $2",
    [kind, id],
  );
  return rows[0] && entityOf(rows[0]);
}

const entityOf = ({ kind, id, value, version, created_at, updated_at }: Row): StoredEntity => ({
  kind,
  id,
  value: JSON.parse(value) as JsonObject,
  version: Number(version),
  createdAt: Number(created_at),
  updatedAt: Number(updated_at),
});
