/**
 * Events, the queue of their webhook deliveries, and the positions of readers.
 *
 * `owner`: `operator`, or the owner of a job. `once`: the deduplication key; an event with the same key is not recorded
 * again. `deliveries_line`: finds the oldest pending delivery of a webhook. `marks`: how far each reader has read, for
 * the time after a restart. `webhook_endpoints`: those of clients, with encrypted signing secrets. `alerts` and `leases`:
 * the state of alerts, and which replica evaluates them.
 */

export const eventTables: readonly string[] = [
  `CREATE TABLE vexel.events (
    seq   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id    TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    type  TEXT NOT NULL,
    at    BIGINT NOT NULL,
    data  TEXT NOT NULL,
    once  TEXT UNIQUE
  )`,
  `CREATE TABLE vexel.deliveries (
    webhook  TEXT NOT NULL,
    seq      BIGINT NOT NULL REFERENCES vexel.events ON DELETE CASCADE,
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due      DOUBLE PRECISION NOT NULL,
    last_at  DOUBLE PRECISION,
    status   INTEGER,
    problem  TEXT,
    PRIMARY KEY (webhook, seq)
  )`,
  "CREATE INDEX events_by_owner ON vexel.events (owner, seq)",
  "CREATE INDEX deliveries_due ON vexel.deliveries (webhook, due) WHERE state = 'waiting'",
  "CREATE INDEX deliveries_line ON vexel.deliveries (webhook, seq) WHERE state = 'waiting'",
  "CREATE INDEX deliveries_by_event ON vexel.deliveries (seq)",
  "CREATE TABLE vexel.marks (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
  `CREATE TABLE vexel.webhook_endpoints (
    id              TEXT COLLATE "C" PRIMARY KEY,
    owner           TEXT COLLATE "C" NOT NULL,
    name            TEXT NOT NULL,
    url             TEXT NOT NULL,
    event_types     TEXT NOT NULL,
    secret          TEXT NOT NULL,
    hint            TEXT NOT NULL,
    previous_secret TEXT,
    previous_until  BIGINT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
  )`,
  "CREATE INDEX webhook_endpoints_by_owner ON vexel.webhook_endpoints (owner, id)",
  `CREATE TABLE vexel.alerts (
    name      TEXT COLLATE "C" PRIMARY KEY,
    firing    INTEGER NOT NULL,
    since     BIGINT NOT NULL,
    announced INTEGER NOT NULL,
    data      TEXT NOT NULL
  )`,
  "CREATE TABLE vexel.leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until BIGINT NOT NULL)",
];
