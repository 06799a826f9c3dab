/**
 * Events, the queue of their webhook deliveries, and the positions of readers.
 *
 * `once`: the deduplication key; an event with the same key is not recorded again. `deliveries_line`: finds the oldest
 * pending delivery of a webhook. `marks`: how far each reader has read, for the time after a restart.
 */

export const eventTables: readonly string[] = [
  `CREATE TABLE vexel.events (
    seq  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id   TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    at   BIGINT NOT NULL,
    data TEXT NOT NULL,
    once TEXT UNIQUE
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
  "CREATE INDEX deliveries_due ON vexel.deliveries (webhook, due) WHERE state = 'waiting'",
  "CREATE INDEX deliveries_line ON vexel.deliveries (webhook, seq) WHERE state = 'waiting'",
  "CREATE INDEX deliveries_by_event ON vexel.deliveries (seq)",
  "CREATE TABLE vexel.marks (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
];
