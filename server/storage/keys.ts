/** The API key store. Only hashes are stored; a key is shown once, when it is created. */
import type { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Budget } from "../lib/budget.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { Limits } from "../lib/limits.ts";
import { openDatabase, StoreError } from "./sqlite/open-database.ts";

/** Optional settings of a key. Stored as JSON, so that more can be added. */
export interface KeySettings {
  readonly project?: string;
  readonly limits?: Limits;
  readonly budget?: Budget;
  /** The models of requests without `model`, by kind. */
  readonly defaults?: { readonly embedding?: string; readonly image?: string };
  /** What happens to image parameters that a target does not support. */
  readonly parameters?: "adapt" | "strict" | "drop" | "pass";
  /** All of its requests are batch requests. */
  readonly priority?: "batch";
  /** Unix milliseconds. */
  readonly expiresAt?: number;
}

export interface StoredKey extends KeySettings {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  /** The first characters, so that people can distinguish keys. */
  readonly hint: string;
  readonly models: readonly string[];
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

interface Row {
  id: string;
  name: string;
  hash: string;
  hint: string;
  models: string;
  settings: string | null;
  created_at: number;
  revoked_at: number | null;
}

const schema = `
  CREATE TABLE IF NOT EXISTS keys (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE,
    hint       TEXT NOT NULL,
    models     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    settings   TEXT
  )`;

/** Files of earlier versions lack the newest column. */
function prepare(db: Database): void {
  db.run(schema);
  const columns = db.query<{ name: string }, []>("PRAGMA table_info(keys)");
  const isThere = (): boolean => columns.all().some(({ name }) => name === "settings");
  if (isThere()) return;
  // The gateway and the CLI may open the file at the same time.
  const add = db.transaction(
    () => isThere() || db.run("ALTER TABLE keys ADD COLUMN settings TEXT"),
  );
  add.immediate();
}

/** Creates the folder if it does not exist. */
export function openKeyStore(folder: string, now: () => number): KeyStore {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError(`The folder ${folder} (VEXEL_DATA) cannot be used: ${words}`, { cause });
  }
  return new KeyStore(folder, now);
}

/** For commands that only read: creates nothing. */
export function existingKeyStore(folder: string, now: () => number): KeyStore {
  const path = join(folder, "vexel.db");
  if (!existsSync(path)) {
    throw new StoreError(
      `There are no keys in ${folder}: ${path} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
    );
  }
  return new KeyStore(folder, now);
}

export class KeyStore {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(folder: string, now: () => number) {
    this.#now = now;
    this.#db = openDatabase({
      path: join(folder, "vexel.db"),
      busyMs: 5000,
      prepare,
    });
  }

  /** 32 random bytes: with that much entropy, one round of SHA-256 protects the stored hash. */
  create(
    name: string,
    models: readonly string[],
    settings: KeySettings = {},
  ): { key: string; stored: StoredKey } {
    const key = `sk-vx-${randomBytes(32).toString("base64url")}`;
    const stored: StoredKey = {
      id: `key_${randomBytes(8).toString("hex")}`,
      name,
      hash: keyHash(key),
      hint: key.slice(0, 10),
      models,
      ...settings,
      createdAt: this.#now(),
      revokedAt: null,
    };
    this.#db
      .query(
        `INSERT INTO keys (id, name, hash, hint, models, created_at, settings)
         VALUES ($id, $name, $hash, $hint, $models, $createdAt, $settings)`,
      )
      .run({
        id: stored.id,
        name,
        hash: stored.hash,
        hint: stored.hint,
        models: JSON.stringify(models),
        createdAt: stored.createdAt,
        settings: JSON.stringify(settings),
      });
    return { key, stored };
  }

  list(): StoredKey[] {
    const rows = this.#db.query<Row, []>("SELECT * FROM keys ORDER BY created_at, id").all();
    return rows.map(({ models, settings, created_at, revoked_at, ...row }) => ({
      ...row,
      models: JSON.parse(models) as string[],
      ...(JSON.parse(settings ?? "{}") as KeySettings),
      createdAt: created_at,
      revokedAt: revoked_at,
    }));
  }

  /** By id or by unique name. Returns how many active keys match. */
  revoke(idOrName: string): { revoked: StoredKey | undefined; matches: number } {
    const active = this.list().filter(({ revokedAt }) => revokedAt === null);
    const found = active.filter(({ id, name }) => id === idOrName || name === idOrName);
    const [only] = found;
    if (found.length !== 1 || !only) return { revoked: undefined, matches: found.length };
    this.#db
      .query("UPDATE keys SET revoked_at = $at WHERE id = $id")
      .run({ at: this.#now(), id: only.id });
    return { revoked: only, matches: 1 };
  }

  /** Changes whenever another process, such as the CLI, has written to the file. */
  version(): number {
    const row = this.#db.query<{ data_version: number }, []>("PRAGMA data_version").get();
    return row?.data_version ?? 0;
  }

  close(): void {
    this.#db.close();
  }
}
