/** The migrations of `events.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

/**
 * `once`: the deduplication key; an event with the same key is not recorded again. `deliveries_line`: finds the oldest
 * pending delivery of a webhook. `marks`: how far each reader has read, for the time after a restart.
 */
const tables: Migration = {
  name: "0001-tables",
  statements: [
    `CREATE TABLE events (
      seq  INTEGER PRIMARY KEY AUTOINCREMENT,
      id   TEXT NOT NULL UNIQUE,
      type TEXT NOT NULL,
      at   INTEGER NOT NULL,
      data TEXT NOT NULL,
      once TEXT UNIQUE
    )`,
    `CREATE TABLE deliveries (
      webhook  TEXT NOT NULL,
      seq      INTEGER NOT NULL,
      state    TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      due      INTEGER NOT NULL,
      last_at  INTEGER,
      status   INTEGER,
      problem  TEXT,
      PRIMARY KEY (webhook, seq)
    ) WITHOUT ROWID`,
    "CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE state = 'waiting'",
    "CREATE INDEX deliveries_line ON deliveries (webhook, seq) WHERE state = 'waiting'",
    "CREATE INDEX deliveries_by_event ON deliveries (seq)",
    "CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
  ],
};

export const eventMigrations: readonly Migration[] = [tables];
