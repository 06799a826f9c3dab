/** The migrations of `ledger.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

const latencyCounts = Array.from({ length: 13 }, (_, at) => `latency_${at} INTEGER NOT NULL`);

/** The roll-ups have the same columns, so that hours are added up by one statement. */
const usageTable = (name: string, start: "hour" | "day"): string => `CREATE TABLE ${name} (
  ${start}       INTEGER NOT NULL,
  key_id         TEXT NOT NULL,
  project        TEXT NOT NULL,
  model          TEXT NOT NULL,
  upstream       TEXT NOT NULL,
  target_model   TEXT NOT NULL,
  requests       INTEGER NOT NULL,
  errors         INTEGER NOT NULL,
  unmetered      INTEGER NOT NULL,
  unpriced       INTEGER NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  images         INTEGER NOT NULL,
  cached_inputs  INTEGER NOT NULL,
  cost           REAL NOT NULL,
  estimated_cost REAL NOT NULL,
  latency_ms     REAL NOT NULL,
  ${latencyCounts.join(", ")},
  inputs         INTEGER NOT NULL,
  PRIMARY KEY (${start}, key_id, project, model, upstream, target_model)
) WITHOUT ROWID`;

const tables: Migration = {
  name: "0001-tables",
  statements: [
    // Request ids begin with the time, so the primary key is the order of arrival.
    `CREATE TABLE ledger (
      request_id      TEXT PRIMARY KEY,
      at              INTEGER NOT NULL,
      endpoint        TEXT NOT NULL,
      key_id          TEXT NOT NULL,
      model           TEXT,
      upstream        TEXT,
      target_model    TEXT,
      attempts        INTEGER NOT NULL,
      status          INTEGER NOT NULL,
      error           TEXT,
      latency_ms      REAL NOT NULL,
      input_tokens    INTEGER,
      output_tokens   INTEGER,
      images          INTEGER,
      bytes_in        INTEGER NOT NULL,
      bytes_out       INTEGER NOT NULL,
      cached_inputs   INTEGER,
      upstream_tokens INTEGER,
      cost            REAL,
      steps           TEXT,
      project         TEXT,
      estimated_cost  REAL,
      inputs          INTEGER,
      timeline        TEXT,
      error_message   TEXT
    ) WITHOUT ROWID`,
    `CREATE TABLE spent (
      scope   TEXT NOT NULL,
      id      TEXT NOT NULL,
      period  TEXT NOT NULL,
      dollars REAL NOT NULL,
      PRIMARY KEY (scope, id, period)
    ) WITHOUT ROWID`,
    // The index of the ledger: a summary of each segment of rows.
    `CREATE TABLE ledger_segments (
      first_id       TEXT PRIMARY KEY,
      last_id        TEXT NOT NULL,
      rows           INTEGER NOT NULL,
      errors         INTEGER NOT NULL,
      min_at         INTEGER NOT NULL,
      max_at         INTEGER NOT NULL,
      min_status     INTEGER NOT NULL,
      max_status     INTEGER NOT NULL,
      min_latency_ms REAL NOT NULL,
      max_latency_ms REAL NOT NULL,
      min_cost       REAL,
      max_cost       REAL,
      terms          BLOB NOT NULL
    )`,
    ...["usage_by_hour", "usage_without_key", "usage_by_key"].map((name) =>
      usageTable(name, "hour"),
    ),
    ...["usage_by_day", "usage_by_day_without_key", "usage_by_day_and_key"].map((name) =>
      usageTable(name, "day"),
    ),
    // Usage without a key is read from the coarser tables, so that one index is enough.
    "CREATE INDEX usage_by_key_id ON usage_by_hour (key_id, hour)",
    "CREATE INDEX usage_by_day_by_key_id ON usage_by_day (key_id, day)",
    "CREATE INDEX usage_by_day_by_project ON usage_by_day (project, day)",
    // Hours before `until` are added up, and in it the keys up to `key_id`. NULL: none.
    "CREATE TABLE finished_usage (until INTEGER NOT NULL, key_id TEXT)",
    "INSERT INTO finished_usage (until) VALUES (0)",
  ],
};

export const ledgerMigrations: readonly Migration[] = [tables];
