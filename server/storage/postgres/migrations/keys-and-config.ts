/** API keys, configuration entities, and their revision counters. The collation "C" orders text by its bytes. */

export const keysAndConfig: readonly string[] = [
  "CREATE TABLE vexel.revisions (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
  "INSERT INTO vexel.revisions (name, value) VALUES ('keys', 0), ('config', 0)",
  `CREATE TABLE vexel.keys (
    id               TEXT COLLATE "C" PRIMARY KEY,
    name             TEXT NOT NULL,
    hash             TEXT NOT NULL UNIQUE,
    hint             TEXT NOT NULL,
    models           TEXT NOT NULL,
    settings         TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    revoked_at       BIGINT,
    created_revision BIGINT NOT NULL,
    revision         BIGINT NOT NULL
  )`,
  "CREATE INDEX keys_by_revision ON vexel.keys (revision)",
  "CREATE INDEX keys_by_creation ON vexel.keys (created_at, id)",
  "CREATE INDEX keys_by_name ON vexel.keys (name)",
  `CREATE TABLE vexel.config_entities (
    kind       TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    value      TEXT NOT NULL,
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, id)
  )`,
];
