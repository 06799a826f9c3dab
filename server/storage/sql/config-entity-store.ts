/** Configuration entities in a SQL database. Several processes may change them at the same time. */
import {
  type ConfigEntityStore,
  type EntityKey,
  type ExpectedVersion,
  type JsonObject,
  type StoredEntity,
  VersionConflict,
} from "../ports/config-entity-store.ts";
import type { Queries, SqlDatabase, SqlInteger } from "./database.ts";
import { pageOf } from "./page-of.ts";
import { nextRevision, readRevision } from "./revisions.ts";

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly value: string;
  readonly version: SqlInteger;
  readonly created_at: SqlInteger;
  readonly updated_at: SqlInteger;
}

export const createConfigEntityStore = (db: SqlDatabase): ConfigEntityStore => ({
  get: (key) => find(db, key),

  async list({ cursor, limit }) {
    const [kind, id] = cursor === undefined ? ["", ""] : (JSON.parse(cursor) as [string, string]);
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.config_entities WHERE (kind, id) > ($1, $2)
       ORDER BY kind, id LIMIT $3`,
      [kind, id, limit + 1],
    );
    return pageOf(rows, limit, entityOf, (last) => JSON.stringify([last.kind, last.id]));
  },

  put: ({ kind, id, value }, expected, at) =>
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

  async delete(key, expected) {
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

  revision: () => readRevision(db, "config"),
  close: () => db.close(),
});

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
