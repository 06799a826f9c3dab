/** The migrations of `vectors.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Database } from "bun:sqlite";
import type { Migration } from "../migrate.ts";

const table: Migration = {
  name: "0001-table",
  statements: [
    `CREATE TABLE vectors (
      id       INTEGER PRIMARY KEY,
      key      BLOB NOT NULL UNIQUE,
      vector   BLOB NOT NULL,
      tokens   INTEGER,
      checksum INTEGER NOT NULL,
      used_at  INTEGER NOT NULL
    )`,
  ],
};

/**
 * `made_at`: the age, by which a vector expires. The age of earlier vectors is not known, so they are deleted: a cached
 * vector that is missing is computed again.
 */
const age: Migration = {
  name: "0002-age",
  statements: [
    "DROP TABLE vectors",
    `CREATE TABLE vectors (
      id       INTEGER PRIMARY KEY,
      key      BLOB NOT NULL UNIQUE,
      vector   BLOB NOT NULL,
      tokens   INTEGER,
      checksum INTEGER NOT NULL,
      used_at  INTEGER NOT NULL,
      made_at  INTEGER NOT NULL
    )`,
    "CREATE INDEX vectors_by_use ON vectors (used_at)",
    "CREATE INDEX vectors_by_age ON vectors (made_at)",
  ],
};

export const vectorMigrations: readonly Migration[] = [table, age];

/** Before the migrations had numbers, the number of the table was the thousands of `user_version`. */
export const unnumberedVectors = (db: Database): number => Math.floor(userVersion(db) / schemaUnit);

const schemaUnit = 1000;

/** `user_version` of a file whose keys have this format. The thousands stay as they were when the numbers began. */
export const keyFormatVersion = (keyFormat: number): number => 2 * schemaUnit + keyFormat;

export const userVersion = (db: Database): number =>
  db.query<{ readonly user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
