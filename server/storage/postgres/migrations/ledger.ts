/**
 * The ledger, partitioned by day of arrival; the batches that are not rolled up yet; the spend table; and usage by hour
 * and by day. `first_id` and `last_id` bound the request ids of a usage group: they are the index of the ledger.
 */

const latencyCounts = Array.from({ length: 13 }, (_, at) => `latency_${at} BIGINT NOT NULL`);

/** Space in each page for changed rows: then their index entries do not change (heap-only updates). */
const forUpdates = "WITH (fillfactor = 70)";

const names = ["project", "model", "upstream", "target_model"];

/** `columns`: the primary key without the start of the period. */
const usageTable = (
  name: string,
  start: "hour" | "day",
  columns: readonly string[],
): string => `CREATE TABLE vexel.${name} (
  ${start}       BIGINT NOT NULL,
  ${columns.map((column) => `${column} TEXT COLLATE "C" NOT NULL`).join(", ")},
  ${start === "hour" ? 'first_id TEXT COLLATE "C" NOT NULL, last_id TEXT COLLATE "C" NOT NULL,' : ""}
  requests       BIGINT NOT NULL,
  errors         BIGINT NOT NULL,
  unmetered      BIGINT NOT NULL,
  unpriced       BIGINT NOT NULL,
  input_tokens   BIGINT NOT NULL,
  output_tokens  BIGINT NOT NULL,
  images         BIGINT NOT NULL,
  cached_inputs  BIGINT NOT NULL,
  inputs         BIGINT NOT NULL,
  refused        BIGINT NOT NULL,
  cost           DOUBLE PRECISION NOT NULL,
  estimated_cost DOUBLE PRECISION NOT NULL,
  latency_ms     DOUBLE PRECISION NOT NULL,
  ${latencyCounts.join(", ")},
  PRIMARY KEY (${[start, ...columns].join(", ")})
) ${forUpdates}`;

export const ledgerTables: readonly string[] = [
  // Partitions need the time in the primary key. A row that is appended again has the same time. `batch` is null if the
  // row was counted when it was stored.
  `CREATE TABLE vexel.ledger (
    request_id      TEXT COLLATE "C" NOT NULL,
    at              BIGINT NOT NULL,
    endpoint        TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    model           TEXT,
    upstream        TEXT,
    target_model    TEXT,
    attempts        INTEGER NOT NULL,
    status          INTEGER NOT NULL,
    error           TEXT,
    latency_ms      DOUBLE PRECISION NOT NULL,
    input_tokens    BIGINT,
    output_tokens   BIGINT,
    images          BIGINT,
    bytes_in        BIGINT NOT NULL,
    bytes_out       BIGINT NOT NULL,
    cached_inputs   BIGINT,
    upstream_tokens BIGINT,
    cost            DOUBLE PRECISION,
    steps           TEXT,
    project         TEXT,
    estimated_cost  DOUBLE PRECISION,
    inputs          BIGINT,
    timeline        TEXT,
    error_message   TEXT,
    replica         TEXT,
    end_user        TEXT,
    tags            TEXT,
    budgets         TEXT,
    batch           BIGINT,
    PRIMARY KEY (request_id, at)
  ) PARTITION BY RANGE (at)`,
  "CREATE INDEX ledger_by_batch ON vexel.ledger (batch)",
  // `requests`: the rows that were counted for the hour at its last export. Null if it was not exported.
  `CREATE TABLE vexel.ledger_exports (
    hour          BIGINT PRIMARY KEY,
    requests      BIGINT,
    claim         TEXT NOT NULL,
    claimed_until TIMESTAMPTZ
  )`,
  `CREATE TABLE vexel.ledger_batches (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL,
    rows        INTEGER NOT NULL,
    appended_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE TABLE vexel.spent (
    scope   TEXT NOT NULL,
    id      TEXT NOT NULL,
    period  TEXT COLLATE "C" NOT NULL,
    nanos   BIGINT NOT NULL,
    PRIMARY KEY (scope, id, period)
  ) ${forUpdates}`,
  // With these indexes, replicas read the sums of the current periods without those of all other days, and without
  // those of end users and tags, of which there may be millions. The period of a sum never changes, so the indexes do
  // not slow down the updates of sums.
  `CREATE INDEX spent_by_day ON vexel.spent (period)
    WHERE scope IN ('key', 'project') AND period LIKE '____-__-__'`,
  `CREATE INDEX spent_by_month ON vexel.spent (period)
    WHERE scope IN ('key', 'project') AND period NOT LIKE '____-__-__'`,
  "CREATE INDEX spent_by_label ON vexel.spent (period) WHERE scope IN ('end_user', 'tag')",
  usageTable("usage_by_hour", "hour", ["key_id", ...names]),
  usageTable("usage_by_day", "day", ["key_id", ...names]),
  usageTable("usage_by_hour_without_key", "hour", names),
  usageTable("usage_by_day_without_key", "day", names),
  "CREATE INDEX usage_by_key_and_hour ON vexel.usage_by_hour (key_id, hour)",
  "CREATE INDEX usage_by_key_and_day ON vexel.usage_by_day (key_id, day)",
  usageTable("usage_by_hour_and_label", "hour", ["label", "key_id", ...names]),
  usageTable("usage_by_day_and_label", "day", ["label", "key_id", ...names]),
  "CREATE INDEX usage_by_label_and_hour ON vexel.usage_by_hour_and_label (label, hour)",
  "CREATE INDEX usage_by_label_and_day ON vexel.usage_by_day_and_label (label, day)",
];
