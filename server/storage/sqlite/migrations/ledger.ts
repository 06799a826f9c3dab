/** The migrations of `ledger.db`, in order. A migration that was released is never changed: a new one is appended. */
import { expiringSums } from "../../sql/spend-tally.ts";
import type { Migration } from "../migrate.ts";

const latencyCounts = Array.from({ length: 13 }, (_, at) => `latency_${at} INTEGER NOT NULL`);

const names = ["project", "model", "upstream", "target_model"];

/** `columns`: the primary key without the start of the period. */
const usageTable = (
  name: string,
  start: "hour" | "day",
  columns: readonly string[],
): string => `CREATE TABLE ${name} (
  ${start}       INTEGER NOT NULL,
  ${columns.map((column) => `${column} TEXT NOT NULL`).join(", ")},
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
  refused        INTEGER NOT NULL,
  PRIMARY KEY (${[start, ...columns].join(", ")})
) WITHOUT ROWID`;

const tables: Migration = {
  name: "0001-tables",
  statements: [
    // In the order of time, as lists and retention read it.
    `CREATE TABLE ledger (
      request_id      TEXT NOT NULL UNIQUE,
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
      error_message   TEXT,
      replica         TEXT,
      end_user        TEXT,
      tags            TEXT,
      budgets         TEXT,
      PRIMARY KEY (at, request_id)
    ) WITHOUT ROWID`,
    `CREATE TABLE spent (
      scope   TEXT NOT NULL,
      id      TEXT NOT NULL,
      period  TEXT NOT NULL,
      nanos   INTEGER NOT NULL,
      PRIMARY KEY (scope, id, period)
    ) WITHOUT ROWID`,
    // Retention reads the sums in the order of time.
    ...expiringSums.map(
      ({ index, condition }) => `CREATE INDEX ${index} ON spent (period) WHERE ${condition}`,
    ),
    `CREATE INDEX ledger_by_failure ON ledger (at, request_id, status, error)
      WHERE error IS NOT NULL OR status >= 400`,
    usageTable("usage_by_hour", "hour", ["key_id", ...names]),
    usageTable("usage_by_day", "day", ["key_id", ...names]),
    usageTable("usage_by_hour_without_key", "hour", names),
    usageTable("usage_by_day_without_key", "day", names),
    usageTable("usage_by_hour_and_label", "hour", ["label", "key_id", ...names]),
    usageTable("usage_by_day_and_label", "day", ["label", "key_id", ...names]),
  ],
};

export const ledgerMigrations: readonly Migration[] = [tables];
