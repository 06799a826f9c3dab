/**
 * The SQLite table of the embedding cache: one row per vector, with a checksum, because SQLite has none. Evicts the
 * least recently used rows.
 */
import type { Database, Statement } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { vectorMigrations } from "./migrations/vectors.ts";
import { openDatabase } from "./open-database.ts";
import { PreparedStatements } from "./prepared-statements.ts";

export interface PersistedEmbedding {
  readonly vector: Float32Array;
  /** This input's share of the tokens that the upstream reported. Undefined if the upstream reported none. */
  readonly tokens: number | undefined;
}

/** Takes one vector of the store. False: the cache is full. */
export type RestoreEmbedding = (
  key: string,
  vector: Float32Array,
  tokens: number | undefined,
  /** Unix milliseconds. */
  madeAt: number,
) => boolean;

/** The position from which reading continues. */
export interface ReadPosition {
  readonly usedAt: number;
  readonly id: number;
}

interface Row {
  readonly id: number;
  readonly key: Uint8Array;
  readonly vector: Uint8Array;
  readonly tokens: number | null;
  readonly checksum: number;
  readonly used_at: number;
  readonly made_at: number;
}

const pageBytes = 4096;
/** Rows evicted at a time. */
const trimRows = 16;
/** Expired rows deleted at a time. */
const expiredRows = 256;

export class EmbeddingCacheTable {
  readonly #db: Database;
  readonly #statements: PreparedStatements;
  readonly #insert: Statement;
  readonly #touch: Statement;
  readonly #trim: Statement;
  readonly #expire: Statement;
  readonly #read: Statement<Row>;
  readonly #pages: Statement<{ readonly page_count: number }>;
  readonly #free: Statement<{ readonly freelist_count: number }>;

  /** `keyFormat`: vectors with keys of another format are deleted. `now`: Unix milliseconds. */
  constructor(path: string, keyFormat: number, now: number) {
    // Readable by the operator only: vectors reveal something of their texts.
    closeSync(openSync(path, "a", 0o600));
    // Writes run on the thread that serves requests: never wait long for a lock.
    this.#db = openDatabase({
      path,
      busyMs: 20,
      migrations: vectorMigrations,
      now,
      prepare: (db) => prepare(db, keyFormat),
    });
    const statements = new PreparedStatements(this.#db);
    this.#statements = statements;
    this.#insert = statements.prepare(
      `INSERT OR REPLACE INTO vectors (key, vector, tokens, checksum, used_at, made_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
    );
    this.#touch = statements.prepare("UPDATE vectors SET used_at = ?2 WHERE key = ?1");
    this.#trim = statements.prepare(
      `DELETE FROM vectors WHERE id IN
         (SELECT id FROM vectors ORDER BY used_at, id LIMIT ${trimRows})`,
    );
    this.#expire = statements.prepare(
      `DELETE FROM vectors WHERE id IN
         (SELECT id FROM vectors WHERE made_at <= ?1 ORDER BY made_at LIMIT ${expiredRows})`,
    );
    this.#read = statements.prepare(
      `SELECT * FROM vectors WHERE (used_at, id) < (?1, ?2)
       ORDER BY used_at DESC, id DESC LIMIT ?3`,
    );
    this.#pages = statements.prepare("PRAGMA page_count");
    this.#free = statements.prepare("PRAGMA freelist_count");
  }

  /** The bytes of the file that are in use. */
  bytes(): number {
    return (this.#pageCount() - this.#freeCount()) * pageBytes;
  }

  /** All or nothing. */
  transaction(work: () => void): void {
    this.#db.run("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.run("COMMIT");
    } finally {
      if (this.#db.inTransaction) this.#db.run("ROLLBACK");
    }
  }

  insert(
    key: string,
    { vector, tokens = null }: { vector: Float32Array; tokens?: number | null | undefined },
    madeAt: number,
  ): void {
    const hash = Buffer.from(key, "base64");
    const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    this.#insert.run(hash, bytes, tokens, checksumOf(hash, bytes, tokens), madeAt, madeAt);
  }

  touch(key: string, usedAt: number): void {
    this.#touch.run(Buffer.from(key, "base64"), usedAt);
  }

  /** Evicts the least recently used rows. False: there are none. */
  evictOldest(): boolean {
    return this.#trim.run().changes > 0;
  }

  /** Deletes some rows computed before `madeBy`. True: there may be more. */
  expire(madeBy: number): boolean {
    return this.#expire.run(madeBy).changes === expiredRows;
  }

  /** Returns the position to continue from; undefined at the end. A damaged row is skipped, which is a cache miss. */
  read(from: ReadPosition, rows: number, restore: RestoreEmbedding): ReadPosition | undefined {
    let last: ReadPosition | undefined;
    for (const { id, key, vector, tokens, checksum, used_at, made_at } of this.#read.all(
      from.usedAt,
      from.id,
      rows,
    )) {
      last = { usedAt: used_at, id };
      if (checksum !== checksumOf(key, vector, tokens)) continue;
      const floats = new Float32Array(vector.slice().buffer);
      const name = Buffer.from(key).toString("base64");
      if (!restore(name, floats, tokens ?? undefined, made_at)) return undefined;
    }
    return last;
  }

  close(): void {
    this.#statements.finalize();
    this.#db.close();
  }

  #pageCount(): number {
    return this.#pages.get()?.page_count ?? 0;
  }

  #freeCount(): number {
    return this.#free.get()?.freelist_count ?? 0;
  }
}

const userVersion = (db: Database): number =>
  db.query<{ readonly user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;

/** The format of the keys is the `user_version` of the file. */
function prepare(db: Database, keyFormat: number): void {
  // Cached vectors are not worth waiting for the disk. A power failure may damage the file, which is then not used.
  db.run("PRAGMA synchronous = OFF");
  if (userVersion(db) === keyFormat) return;
  db.run("DELETE FROM vectors");
  // Returns the disk space. Fast for an empty file.
  db.run("VACUUM");
  db.run(`PRAGMA user_version = ${keyFormat}`);
}

/**
 * Covers the key, the vector and the tokens: a flipped bit in a vector would otherwise be found months later, if ever.
 */
const checksumOf = (key: Uint8Array, vector: Uint8Array, tokens: number | null): number =>
  Bun.hash.crc32(vector, Bun.hash.crc32(key, tokens === null ? 0 : tokens + 1));
