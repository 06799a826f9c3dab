/**
 * The migrations of `last-known.db`, in order. A migration that was released is never changed: a new one is appended.
 */
import type { Migration } from "../migrate.ts";

const tables: Migration = {
  name: "0001-tables",
  statements: [
    "CREATE TABLE keys (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE entities (json TEXT NOT NULL)",
    "CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
  ],
};

/** A change of one entity writes this one. */
const entityKeys: Migration = {
  name: "0002-entity-keys",
  statements: [
    `CREATE TABLE keyed_entities (kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL,
       PRIMARY KEY (kind, id)) WITHOUT ROWID`,
    `INSERT INTO keyed_entities SELECT json_extract(json, '$.kind'), json_extract(json, '$.id'), json
     FROM entities`,
    "DROP TABLE entities",
    "ALTER TABLE keyed_entities RENAME TO entities",
  ],
};

export const lastKnownMigrations: readonly Migration[] = [tables, entityKeys];
