/** Configuration entities in `vexel.db`. The gateway and the command line may have the file open at the same time. */
import type { Database } from "bun:sqlite";
import {
  type ConfigEntityStore,
  type EntityKey,
  type ExpectedVersion,
  type JsonObject,
  type StoredEntity,
  VersionConflict,
} from "../ports/config-entity-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import { openGatewayDatabase } from "./gateway-database.ts";
import { nextRevision, readRevision } from "./revisions.ts";

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly value: string;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
}

/** The folder must exist. `now`: Unix milliseconds. */
export const openConfigEntityStore = (folder: string, now: () => number): ConfigEntityStore =>
  new SqliteConfigEntityStore(openGatewayDatabase(folder, now));

class SqliteConfigEntityStore implements ConfigEntityStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async get(key: EntityKey): Promise<StoredEntity | undefined> {
    return this.#find(key);
  }

  async list({ cursor, limit }: PageRequest): Promise<Page<StoredEntity>> {
    const [kind, id] = cursor === undefined ? ["", ""] : (JSON.parse(cursor) as [string, string]);
    const rows = this.#db
      .query<Row, [string, string, number]>(
        "SELECT * FROM config_entities WHERE (kind, id) > (?1, ?2) ORDER BY kind, id LIMIT ?3",
      )
      .all(kind, id, limit + 1);
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(entityOf),
      ...(rows.length > limit && last && { next: JSON.stringify([last.kind, last.id]) }),
    };
  }

  async put(
    { kind, id, value }: EntityKey & { readonly value: JsonObject },
    expected: ExpectedVersion,
    at: number,
  ): Promise<StoredEntity> {
    const write = this.#db.transaction((): StoredEntity => {
      const before = this.#expect({ kind, id }, expected);
      const version = nextRevision(this.#db, "config");
      const entity = {
        kind,
        id,
        value,
        version,
        createdAt: before?.createdAt ?? at,
        updatedAt: at,
      };
      this.#db
        .query(
          `INSERT OR REPLACE INTO config_entities (kind, id, value, version, created_at, updated_at)
           VALUES ($kind, $id, $value, $version, $createdAt, $updatedAt)`,
        )
        .run({ ...entity, value: JSON.stringify(value) });
      return entity;
    });
    return write.immediate();
  }

  async delete(key: EntityKey, expected: ExpectedVersion): Promise<boolean> {
    const remove = this.#db.transaction((): boolean => {
      if (!this.#expect(key, expected)) return false;
      nextRevision(this.#db, "config");
      this.#db
        .query("DELETE FROM config_entities WHERE kind = $kind AND id = $id")
        .run({ kind: key.kind, id: key.id });
      return true;
    });
    return remove.immediate();
  }

  async revision(): Promise<number> {
    return readRevision(this.#db, "config");
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  /** The entity, if it has the expected version. */
  #expect(key: EntityKey, expected: ExpectedVersion): StoredEntity | undefined {
    const found = this.#find(key);
    const version = found?.version ?? 0;
    if (expected !== undefined && expected !== version) throw new VersionConflict(key, version);
    return found;
  }

  #find({ kind, id }: EntityKey): StoredEntity | undefined {
    const row = this.#db
      .query<Row, [string, string]>("SELECT * FROM config_entities WHERE kind = ?1 AND id = ?2")
      .get(kind, id);
    return row ? entityOf(row) : undefined;
  }
}

const entityOf = ({ kind, id, value, version, created_at, updated_at }: Row): StoredEntity => ({
  kind,
  id,
  value: JSON.parse(value) as JsonObject,
  version,
  createdAt: created_at,
  updatedAt: updated_at,
});
