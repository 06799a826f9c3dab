/** Stored responses of image requests, in chunks, under one or several names. */

export const responseTables: readonly string[] = [
  `CREATE TABLE vexel.responses (
    id         TEXT PRIMARY KEY,
    length     BIGINT NOT NULL,
    stored_at  BIGINT NOT NULL
  )`,
  "CREATE INDEX responses_by_time ON vexel.responses (stored_at)",
  `CREATE TABLE vexel.response_chunks (
    response_id TEXT NOT NULL REFERENCES vexel.responses ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    bytes       BYTEA NOT NULL,
    PRIMARY KEY (response_id, number)
  )`,
  `CREATE TABLE vexel.response_names (
    name        TEXT PRIMARY KEY,
    response_id TEXT NOT NULL REFERENCES vexel.responses ON DELETE CASCADE,
    metadata    TEXT NOT NULL,
    stored_at   BIGINT NOT NULL
  )`,
  "CREATE INDEX response_names_by_response ON vexel.response_names (response_id)",
];
