/** Configuration entities in PostgreSQL, shared by all replicas. */
import {
  type ConfigEntityStore,
  type EntityKey,
  type ExpectedVersion,
  type JsonObject,
  type StoredEntity,
  VersionConflict,
} from "../ports/config-entity-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import type { PostgresDatabase } from "./database.ts";
import type { Queries } from "./queries.ts";
import { nextRevision, readRevision } from "./revisions.ts";

/** PostgreSQL's BIGINT is read as text. */
interface Row {
  readonly kind: string;
  readonly id: string;
  readonly value: string;
  readonly version: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export class PostgresConfigEntityStore implements ConfigEntityStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  get(key: EntityKey): Promise<StoredEntity | undefined> {
    return find(this.#db, key);
  }

  async list({ cursor, limit }: PageRequest): Promise<Page<StoredEntity>> {
    const [kind, id] = cursor === undefined ? ["", ""] : (JSON.parse(cursor) as [string, string]);
    const { rows } = await this.#db.query<Row>(
      `SELECT * FROM vexel.config_entities WHERE (kind, id) > ($1, $2)
       ORDER BY kind, id LIMIT $3`,
      [kind, id, limit + 1],
    );
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(entityOf),
      ...(rows.length > limit && last && { next: JSON.stringify([last.kind, last.id]) }),
    };
  }

  put(
    { kind, id, value }: EntityKey & { readonly value: JsonObject },
    expected: ExpectedVersion,
    at: number,
  ): Promise<StoredEntity> {
    return this.#db.transaction(async (db) => {
      // First: it locks the counter, so that two writers compare versions one after the other.
      const version = await nextRevision(db, "config");
      const before = await findExpected(db, { kind, id }, expected);
      const createdAt = before?.createdAt ?? at;
      await db.query(
        `INSERT INTO vexel.config_entities (kind, id, value, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (kind, id) DO UPDATE SET value = $3, version = $4, updated_at = $6`,
        [kind, id, JSON.stringify(value), version, createdAt, at],
      );
      return { kind, id, value, version, createdAt, updatedAt: at };
    });
  }

  async delete(key: EntityKey, expected: ExpectedVersion): Promise<boolean> {
    try {
      await this.#db.transaction(async (db) => {
        await nextRevision(db, "config");
        if (!(await findExpected(db, key, expected))) throw new NothingDeleted();
        await db.query("DELETE FROM vexel.config_entities WHERE kind = $1 AND id = $2", [
          key.kind,
          key.id,
        ]);
      });
      return true;
    } catch (error) {
      if (error instanceof NothingDeleted) return false;
      throw error;
    }
  }

  revision(): Promise<number> {
    return readRevision(this.#db, "config");
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

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
