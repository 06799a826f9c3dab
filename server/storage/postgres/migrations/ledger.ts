/**
 * The ledger, partitioned by month of arrival; the spend table; and usage by hour. `first_id` and `last_id` bound the
 * request ids of a usage group: they are the index of the ledger.
 */

const latencyCounts = Array.from({ length: 13 }, (_, at) => `latency_${at} BIGINT NOT NULL`);

export const ledgerTables: readonly string[] = [
  // Partitions need the time in the primary key. A row that is appended again has the same time.
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
    PRIMARY KEY (request_id, at)
  ) PARTITION BY RANGE (at)`,
  `CREATE TABLE vexel.spent (
    scope   TEXT NOT NULL,
    id      TEXT NOT NULL,
    period  TEXT COLLATE "C" NOT NULL,
    dollars DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope, id, period)
  )`,
  // Daily sums are the only ones that expire. With both indexes, replicas read the sums of the current periods without
  // those of all other days. The period of a sum never changes, so the indexes do not slow down the updates of sums.
  "CREATE INDEX spent_by_day ON vexel.spent (period) WHERE period LIKE '____-__-__'",
  "CREATE INDEX spent_by_month ON vexel.spent (period) WHERE period NOT LIKE '____-__-__'",
  `CREATE TABLE vexel.usage_by_hour (
    hour           BIGINT NOT NULL,
    key_id         TEXT COLLATE "C" NOT NULL,
    project        TEXT COLLATE "C" NOT NULL,
    model          TEXT COLLATE "C" NOT NULL,
    upstream       TEXT COLLATE "C" NOT NULL,
    target_model   TEXT COLLATE "C" NOT NULL,
    first_id       TEXT COLLATE "C" NOT NULL,
    last_id        TEXT COLLATE "C" NOT NULL,
    requests       BIGINT NOT NULL,
    errors         BIGINT NOT NULL,
    unmetered      BIGINT NOT NULL,
    unpriced       BIGINT NOT NULL,
    input_tokens   BIGINT NOT NULL,
    output_tokens  BIGINT NOT NULL,
    images         BIGINT NOT NULL,
    cached_inputs  BIGINT NOT NULL,
    inputs         BIGINT NOT NULL,
    cost           DOUBLE PRECISION NOT NULL,
    estimated_cost DOUBLE PRECISION NOT NULL,
    latency_ms     DOUBLE PRECISION NOT NULL,
    ${latencyCounts.join(", ")},
    PRIMARY KEY (hour, key_id, project, model, upstream, target_model)
  )`,
  ...["key_id", "project", "model", "upstream"].map(
    (column) => `CREATE INDEX usage_by_${column} ON vexel.usage_by_hour (${column}, hour)`,
  ),
];
