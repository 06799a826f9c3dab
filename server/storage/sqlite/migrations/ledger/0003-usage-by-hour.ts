/**
 * Usage by hour, key, project, model and target, computed from the existing rows. `first_id` and `last_id` are the
 * first and the last request id of a group: they take the place of an index of the ledger.
 */
import type { Migration } from "../../migrate.ts";

const bounds = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000] as const;

const latencyCounts = [...bounds.keys(), bounds.length].map((at) => `latency_${at}`);

const schema = `CREATE TABLE usage_by_hour (
  hour            INTEGER NOT NULL,
  key_id          TEXT NOT NULL,
  project         TEXT NOT NULL,
  model           TEXT NOT NULL,
  upstream        TEXT NOT NULL,
  target_model    TEXT NOT NULL,
  first_id        TEXT NOT NULL,
  last_id         TEXT NOT NULL,
  requests        INTEGER NOT NULL,
  errors          INTEGER NOT NULL,
  unmetered       INTEGER NOT NULL,
  unpriced        INTEGER NOT NULL,
  input_tokens    INTEGER NOT NULL,
  output_tokens   INTEGER NOT NULL,
  images          INTEGER NOT NULL,
  cached_inputs   INTEGER NOT NULL,
  cost            REAL NOT NULL,
  estimated_cost  REAL NOT NULL,
  latency_ms      REAL NOT NULL,
  ${latencyCounts.map((name) => `${name} INTEGER NOT NULL`).join(", ")},
  PRIMARY KEY (hour, key_id, project, model, upstream, target_model)
) WITHOUT ROWID`;

/** The first bound that the latency does not exceed. */
const inBucket = (at: number): string => {
  const above = at === 0 ? "1" : `latency_ms > ${bounds[at - 1]}`;
  const below = at === bounds.length ? "1" : `latency_ms <= ${bounds[at]}`;
  return `sum(${above} AND ${below})`;
};

const fill = `INSERT INTO usage_by_hour
  SELECT at - at % 3600000, key_id, coalesce(project, ''), coalesce(model, ''),
    coalesce(upstream, ''), coalesce(target_model, ''), min(request_id), max(request_id),
    count(*), sum(error IS NOT NULL),
    sum(error IS NULL AND input_tokens IS NULL), sum(error IS NULL AND cost IS NULL),
    coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(images), 0),
    coalesce(sum(cached_inputs), 0), coalesce(sum(cost), 0), coalesce(sum(estimated_cost), 0),
    sum(latency_ms), ${latencyCounts.map((_, at) => inBucket(at)).join(", ")}
  FROM ledger GROUP BY 1, 2, 3, 4, 5, 6`;

export const usageByHour: Migration = {
  name: "0003-usage-by-hour",
  up: (db) => {
    db.run(schema);
    db.run(fill);
    // Written once per group and hour: the indexed columns of a group never change.
    for (const column of ["key_id", "project", "model", "upstream"]) {
      db.run(`CREATE INDEX usage_by_${column} ON usage_by_hour (${column}, hour)`);
    }
  },
};
