/**
 * `last-known.db`, the last known configuration: a copy of the API keys and configuration entities of the shared
 * database, in the data folder. A gateway that starts while the database is unreachable serves from it. Keys are
 * hashes, and the secrets of entities are encrypted, as in the database.
 */
import type { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EntityKey, StoredEntity } from "../sql/config-entity-store.ts";
import type { StoredKey } from "../sql/stored-key.ts";
import { lastKnownMigrations } from "./migrations/last-known.ts";
import { openDatabase } from "./open-database.ts";

export class LastKnownConfig {
  readonly #db: Database;

  /** Creates the folder if it does not exist. `now`: Unix milliseconds. Throws StoreError. */
  constructor(folder: string, now: () => number) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#db = openDatabase({
      path: join(folder, "last-known.db"),
      busyMs: 50,
      migrations: lastKnownMigrations,
      now: now(),
      prepare: (db) => {
        db.run("PRAGMA synchronous = NORMAL");
      },
    });
  }

  /** The revision that the copy has. Undefined if there is no copy. */
  revision(name: "keys" | "config"): number | undefined {
    return this.#db
      .query<{ value: number }, [string]>("SELECT value FROM revisions WHERE name = ?1")
      .get(name)?.value;
  }

  keys(): StoredKey[] {
    return this.#read("SELECT json FROM keys ORDER BY id") as StoredKey[];
  }

  entities(): StoredEntity[] {
    return this.#read("SELECT json FROM entities ORDER BY kind, id") as StoredEntity[];
  }

  /** Replaces these keys and leaves the others. */
  saveKeys(keys: readonly StoredKey[], revision: number): void {
    this.#write(() => {
      const insert = this.#db.query("INSERT OR REPLACE INTO keys (id, json) VALUES (?1, ?2)");
      for (const key of keys) insert.run(key.id, JSON.stringify(key));
      this.#saveRevision("keys", revision);
    });
  }

  /** Replaces these entities and leaves the others. */
  saveEntities(entities: readonly StoredEntity[], revision: number): void {
    this.#write(() => {
      const insert = this.#db.query(
        "INSERT OR REPLACE INTO entities (kind, id, json) VALUES (?1, ?2, ?3)",
      );
      for (const entity of entities) insert.run(entity.kind, entity.id, JSON.stringify(entity));
      this.#saveRevision("config", revision);
    });
  }

  /** Deletes all other entities. */
  deleteOtherEntities(keys: readonly EntityKey[]): void {
    this.#write(() => {
      const list = JSON.stringify(keys.map(({ kind, id }) => [kind, id]));
      this.#db
        .query(
          `DELETE FROM entities WHERE (kind, id) NOT IN
             (SELECT value ->> 0, value ->> 1 FROM json_each(?1))`,
        )
        .run(list);
    });
  }

  #read(sql: string): unknown[] {
    const rows = this.#db.query<{ json: string }, []>(sql).all();
    return rows.map(({ json }) => JSON.parse(json) as unknown);
  }

  /** All or nothing. */
  #write(work: () => void): void {
    try {
      this.#db.transaction(work)();
    } catch {
      // A change, such as the revocation of a key, applies without the copy. A full disk is reported by the ledger.
    }
  }

  close(): void {
    this.#db.close();
  }

  #saveRevision(name: string, revision: number): void {
    this.#db
      .query("INSERT OR REPLACE INTO revisions (name, value) VALUES (?1, ?2)")
      .run(name, revision);
  }
}
