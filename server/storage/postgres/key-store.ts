/** API keys in PostgreSQL, shared by all replicas. */
import type {
  KeyChanges,
  KeySettings,
  KeyStore,
  KeyUpdate,
  NewKey,
  StoredKey,
} from "../ports/key-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import type { PostgresDatabase } from "./database.ts";
import type { Queries } from "./queries.ts";
import { nextRevision, readRevision } from "./revisions.ts";

/** PostgreSQL's BIGINT is read as text. */
interface Row {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: string;
  readonly settings: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly created_revision: string;
  readonly revision: string;
}

export class PostgresKeyStore implements KeyStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async create(key: NewKey): Promise<void> {
    const { id, name, hash, hint, models, createdAt, ...settings } = key;
    await this.#db.transaction(async (db) => {
      const revision = await nextRevision(db, "keys");
      await db.query(
        `INSERT INTO vexel.keys
           (id, name, hash, hint, models, settings, created_at, created_revision, revision)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
        [
          id,
          name,
          hash,
          hint,
          JSON.stringify(models),
          JSON.stringify(settings),
          createdAt,
          revision,
        ],
      );
    });
  }

  async findActive(idOrName: string): Promise<readonly StoredKey[]> {
    const { rows } = await this.#db.query<Row>(
      `SELECT * FROM vexel.keys WHERE revoked_at IS NULL AND (id = $1 OR name = $1)
       ORDER BY created_at, id`,
      [idOrName],
    );
    return rows.map(keyOf);
  }

  revoke(id: string, at: number): Promise<boolean> {
    return this.#change(id, async (db, revision) => {
      await db.query("UPDATE vexel.keys SET revoked_at = $2, revision = $3 WHERE id = $1", [
        id,
        at,
        revision,
      ]);
    });
  }

  update(id: string, { name, models, ...settings }: KeyUpdate): Promise<boolean> {
    return this.#change(id, async (db, revision) => {
      await db.query(
        "UPDATE vexel.keys SET name = $2, models = $3, settings = $4, revision = $5 WHERE id = $1",
        [id, name, JSON.stringify(models), JSON.stringify(settings), revision],
      );
    });
  }

  expire(id: string, at: number): Promise<boolean> {
    return this.#change(id, async (db, revision, { settings }) => {
      const present = JSON.parse(settings) as KeySettings;
      const expiresAt = Math.min(at, present.expiresAt ?? at);
      await db.query("UPDATE vexel.keys SET settings = $2, revision = $3 WHERE id = $1", [
        id,
        JSON.stringify({ ...present, expiresAt }),
        revision,
      ]);
    });
  }

  async list({ cursor, limit }: PageRequest): Promise<Page<StoredKey>> {
    const [createdAt, id] = cursor === undefined ? [-1, ""] : readCursor(cursor);
    const { rows } = await this.#db.query<Row>(
      `SELECT * FROM vexel.keys WHERE (created_at, id) > ($1, $2)
       ORDER BY created_at, id LIMIT $3`,
      [createdAt, id, limit + 1],
    );
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(keyOf),
      ...(rows.length > limit && last && { next: `${last.created_at} ${last.id}` }),
    };
  }

  revision(): Promise<number> {
    return readRevision(this.#db, "keys");
  }

  async changesSince(revision: number, limit: number): Promise<KeyChanges> {
    const { rows } = await this.#db.query<Row>(
      "SELECT * FROM vexel.keys WHERE revision > $1 ORDER BY revision LIMIT $2",
      [revision, limit + 1],
    );
    const page = rows.slice(0, limit);
    return {
      changes: page.map((row) => ({
        key: keyOf(row),
        isNew: Number(row.created_revision) > revision,
      })),
      revision: Number(page.at(-1)?.revision ?? revision),
      hasMore: rows.length > limit,
    };
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  /** Changes an active key. False: there is none with this id. */
  #change(
    id: string,
    write: (db: Queries, revision: number, row: Row) => Promise<void>,
  ): Promise<boolean> {
    return this.#db.transaction(async (db) => {
      const { rows } = await db.query<Row>(
        "SELECT * FROM vexel.keys WHERE id = $1 AND revoked_at IS NULL FOR UPDATE",
        [id],
      );
      if (!rows[0]) return false;
      await write(db, await nextRevision(db, "keys"), rows[0]);
      return true;
    });
  }
}

const keyOf = (row: Row): StoredKey => ({
  id: row.id,
  name: row.name,
  hash: row.hash,
  hint: row.hint,
  models: JSON.parse(row.models) as string[],
  ...(JSON.parse(row.settings) as KeySettings),
  createdAt: Number(row.created_at),
  revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
});

function readCursor(cursor: string): [createdAt: number, id: string] {
  const space = cursor.indexOf(" ");
  return [Number(cursor.slice(0, space)), cursor.slice(space + 1)];
}
