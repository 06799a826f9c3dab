/**
 * The migrations of `last-known.db`, in order. A migration that was released is never changed: a new one is appended.
 */
import type { Migration } from "../migrate.ts";

const tables: Migration = {
  name: "0001-tables",
  statements: [
    "CREATE TABLE keys (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID",
    `CREATE TABLE entities (kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL,
       PRIMARY KEY (kind, id)) WITHOUT ROWID`,
    "CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
  ],
};

export const lastKnownMigrations: readonly Migration[] = [tables];
