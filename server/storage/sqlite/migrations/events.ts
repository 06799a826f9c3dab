/** The migrations of `events.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

/**
 * `owner`: `operator`, or the owner of a job. `once`: the deduplication key; an event with the same key is not recorded
 * again. `deliveries_line`: finds the oldest pending delivery of a webhook. `marks`: how far each reader has read, for
 * the time after a restart. `webhook_endpoints`: those of clients, with encrypted signing secrets. `alerts` and `leases`:
 * the state of alerts, and which process evaluates them.
 */
const tables: Migration = {
  name: "0001-tables",
  statements: [
    `CREATE TABLE events (
      seq   INTEGER PRIMARY KEY AUTOINCREMENT,
      id    TEXT NOT NULL UNIQUE,
      owner TEXT NOT NULL,
      type  TEXT NOT NULL,
      at    INTEGER NOT NULL,
      data  TEXT NOT NULL,
      once  TEXT UNIQUE
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
    "CREATE INDEX events_by_owner ON events (owner, seq)",
    "CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE state = 'waiting'",
    "CREATE INDEX deliveries_line ON deliveries (webhook, seq) WHERE state = 'waiting'",
    "CREATE INDEX deliveries_by_event ON deliveries (seq)",
    "CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    `CREATE TABLE webhook_endpoints (
      id              TEXT PRIMARY KEY,
      owner           TEXT NOT NULL,
      name            TEXT NOT NULL,
      url             TEXT NOT NULL,
      event_types     TEXT NOT NULL,
      secret          TEXT NOT NULL,
      hint            TEXT NOT NULL,
      previous_secret TEXT,
      previous_until  INTEGER,
      created_at      INTEGER NOT NULL,
      updated_at      INTEGER NOT NULL
    ) WITHOUT ROWID`,
    "CREATE INDEX webhook_endpoints_by_owner ON webhook_endpoints (owner, id)",
    `CREATE TABLE alerts (
      name      TEXT PRIMARY KEY,
      firing    INTEGER NOT NULL,
      since     INTEGER NOT NULL,
      announced INTEGER NOT NULL,
      data      TEXT NOT NULL
    ) WITHOUT ROWID`,
    `CREATE TABLE leases (
      name  TEXT PRIMARY KEY,
      owner TEXT NOT NULL,
      until INTEGER NOT NULL
    ) WITHOUT ROWID`,
  ],
};

export const eventMigrations: readonly Migration[] = [tables];
