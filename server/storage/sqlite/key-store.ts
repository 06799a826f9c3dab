/** API keys in `vexel.db`. The gateway and the command line may have the file open at the same time. */
import type { Database } from "bun:sqlite";
import { existsSync, mkdirSync } from "node:fs";
import type {
  KeyChanges,
  KeySettings,
  KeyStore,
  KeyUpdate,
  NewKey,
  StoredKey,
} from "../ports/key-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import { gatewayDatabasePath, openGatewayDatabase } from "./gateway-database.ts";
import { StoreError } from "./open-database.ts";
import { nextRevision, readRevision } from "./revisions.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: string;
  readonly settings: string | null;
  readonly created_at: number;
  readonly revoked_at: number | null;
  readonly created_revision: number;
  readonly revision: number;
}

/** Creates the folder if it does not exist. `now`: Unix milliseconds. */
export function openKeyStore(folder: string, now: () => number): KeyStore {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError(`The folder ${folder} (VEXEL_DATA) cannot be used: ${reason}`, { cause });
  }
  return new SqliteKeyStore(openGatewayDatabase(folder, now));
}

/** For commands that only read: creates nothing. */
export function openExistingKeyStore(folder: string, now: () => number): KeyStore {
  const path = gatewayDatabasePath(folder);
  if (!existsSync(path)) {
    throw new StoreError(
      `There are no keys in ${folder}: ${path} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
    );
  }
  return new SqliteKeyStore(openGatewayDatabase(folder, now));
}

class SqliteKeyStore implements KeyStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(key: NewKey): Promise<void> {
    const { id, name, hash, hint, models, createdAt, ...settings } = key;
    const insert = this.#db.transaction(() => {
      const revision = nextRevision(this.#db, "keys");
      this.#db
        .query(
          `INSERT INTO keys (id, name, hash, hint, models, created_at, settings, created_revision, revision)
           VALUES ($id, $name, $hash, $hint, $models, $createdAt, $settings, $revision, $revision)`,
        )
        .run({
          id,
          name,
          hash,
          hint,
          models: JSON.stringify(models),
          createdAt,
          settings: JSON.stringify(settings),
          revision,
        });
    });
    insert.immediate();
  }

  async findActive(idOrName: string): Promise<readonly StoredKey[]> {
    return this.#db
      .query<Row, [string]>(
        `SELECT * FROM keys WHERE revoked_at IS NULL AND (id = ?1 OR name = ?1)
         ORDER BY created_at, id`,
      )
      .all(idOrName)
      .map(keyOf);
  }

  async revoke(id: string, at: number): Promise<boolean> {
    return this.#change(id, "revoked_at = $at", { at });
  }

  async update(id: string, update: KeyUpdate): Promise<boolean> {
    const { name, models, ...settings } = update;
    return this.#change(id, "name = $name, models = $models, settings = $settings", {
      name,
      models: JSON.stringify(models),
      settings: JSON.stringify(settings),
    });
  }

  async expire(id: string, at: number): Promise<boolean> {
    return this.#change(
      id,
      `settings = json_set(coalesce(settings, '{}'), '$.expiresAt',
         min($at, coalesce(settings ->> '$.expiresAt', $at)))`,
      { at },
    );
  }

  /** Changes an active key. False: there is none with this id. */
  #change(id: string, assignments: string, values: Record<string, string | number>): boolean {
    const update = this.#db.transaction((): boolean => {
      const { changes } = this.#db
        .query(`UPDATE keys SET ${assignments} WHERE id = $id AND revoked_at IS NULL`)
        .run({ ...values, id });
      if (changes === 0) return false;
      const revision = nextRevision(this.#db, "keys");
      this.#db.query("UPDATE keys SET revision = $revision WHERE id = $id").run({ revision, id });
      return true;
    });
    return update.immediate();
  }

  async list({ cursor, limit }: PageRequest): Promise<Page<StoredKey>> {
    const [createdAt, id] = cursor === undefined ? [-1, ""] : readCursor(cursor);
    const rows = this.#db
      .query<Row, [number, string, number]>(
        `SELECT * FROM keys WHERE (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3`,
      )
      .all(createdAt, id, limit + 1);
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(keyOf),
      ...(rows.length > limit && last && { next: `${last.created_at} ${last.id}` }),
    };
  }

  async revision(): Promise<number> {
    return readRevision(this.#db, "keys");
  }

  async changesSince(revision: number, limit: number): Promise<KeyChanges> {
    const rows = this.#db
      .query<Row, [number, number]>(
        "SELECT * FROM keys WHERE revision > ?1 ORDER BY revision LIMIT ?2",
      )
      .all(revision, limit + 1);
    const page = rows.slice(0, limit);
    return {
      changes: page.map((row) => ({ key: keyOf(row), isNew: row.created_revision > revision })),
      revision: page.at(-1)?.revision ?? revision,
      hasMore: rows.length > limit,
    };
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}

const keyOf = (row: Row): StoredKey => ({
  id: row.id,
  name: row.name,
  hash: row.hash,
  hint: row.hint,
  models: JSON.parse(row.models) as string[],
  ...(JSON.parse(row.settings ?? "{}") as KeySettings),
  createdAt: row.created_at,
  revokedAt: row.revoked_at,
});

function readCursor(cursor: string): [createdAt: number, id: string] {
  const space = cursor.indexOf(" ");
  return [Number(cursor.slice(0, space)), cursor.slice(space + 1)];
}
