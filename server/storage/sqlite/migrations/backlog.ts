/** The migrations of `backlog.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

const tables: Migration = {
  name: "0001-tables",
  // `row`: the values of the row as JSON. The other columns say what is charged, and to whom. `spent`: what the sums of
  // the shared database were when they last had rows of this folder.
  statements: [
    `CREATE TABLE backlog (
      request_id TEXT PRIMARY KEY,
      key_id     TEXT NOT NULL,
      project    TEXT,
      budgets    TEXT,
      at         INTEGER NOT NULL,
      nanos      INTEGER NOT NULL,
      row        TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE TABLE spent (
      scope  TEXT NOT NULL,
      id     TEXT NOT NULL,
      period TEXT NOT NULL,
      nanos  INTEGER NOT NULL,
      PRIMARY KEY (scope, id, period)
    ) WITHOUT ROWID`,
  ],
};

export const backlogMigrations: readonly Migration[] = [tables];
