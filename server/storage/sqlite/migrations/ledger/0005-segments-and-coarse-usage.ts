/**
 * Segment summaries of the ledger, usage by day and usage without keys, filled from what exists. The summaries replace
 * the request ids of the roll-ups as the index of the ledger.
 */
import { coarseTables, rollUpStatement } from "../../finished-usage.ts";
import type { Migration } from "../../migrate.ts";
import { SegmentTable, type SummarizedRow } from "../../segment-table.ts";

const segments = `CREATE TABLE ledger_segments (
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
)`;

const summarized = `SELECT request_id AS requestId, at, status, latency_ms AS latencyMs, cost, error,
  key_id AS keyId, project, model, upstream, target_model AS targetModel
  FROM ledger ORDER BY request_id`;

export const segmentsAndCoarseUsage: Migration = {
  name: "0005-segments-and-coarse-usage",
  up: (db) => {
    db.run(segments);
    const table = new SegmentTable(db);
    table.add(db.query<SummarizedRow, []>(summarized).iterate());
    table.close();
    // Usage without a key is read from the coarser tables, so that one index is enough.
    for (const column of ["project", "model", "upstream"]) db.run(`DROP INDEX usage_by_${column}`);
    db.run("ALTER TABLE usage_by_hour DROP COLUMN first_id");
    db.run("ALTER TABLE usage_by_hour DROP COLUMN last_id");
    const [{ sql = "" } = {}] = db
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_master WHERE name = 'usage_by_hour'")
      .all();
    // The same columns, so that hours are added up by one statement.
    db.run(sql.replace("usage_by_hour", "usage_without_key"));
    for (const name of ["usage_by_day", "usage_by_day_without_key"])
      db.run(sql.replace("usage_by_hour", name).replaceAll(/\bhour\b/g, "day"));
    for (const column of ["key_id", "project"]) {
      db.run(`CREATE INDEX usage_by_day_by_${column} ON usage_by_day (${column}, day)`);
    }
    // Hours before `until` are added up.
    db.run("CREATE TABLE finished_usage (until INTEGER NOT NULL)");
    const [{ hour: until } = { hour: null }] = db
      .query<{ hour: number | null }, []>("SELECT max(hour) AS hour FROM usage_by_hour")
      .all();
    db.query("INSERT INTO finished_usage (until) VALUES (?1)").run(until ?? 0);
    const { usage_by_day, usage_without_key, usage_by_day_without_key } = coarseTables;
    for (const each of [usage_by_day, usage_without_key, usage_by_day_without_key]) {
      db.run(
        rollUpStatement(each, "usage_by_hour WHERE hour < (SELECT until FROM finished_usage)"),
      );
    }
  },
};
