/**
 * The files of clients, and uploads of files in parts, without their content. `space`: how many bytes the file counts toward the quotas; `file_space`
 * has the sums of each owner, and of all owners under an empty name. `parts`: the parts of an upload that the content is
 * in, as JSON. `uploads`: `parts` and `part_bytes` are the number and the bytes of its parts.
 */

export const fileTables: readonly string[] = [
  `CREATE TABLE vexel.files (
    id         TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    purpose    TEXT NOT NULL,
    filename   TEXT NOT NULL,
    bytes      BIGINT NOT NULL,
    space      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    state      TEXT NOT NULL,
    parts      TEXT
  )`,
  "CREATE INDEX files_by_owner ON vexel.files (owner, id)",
  "CREATE INDEX files_by_expiry ON vexel.files (expires_at) WHERE expires_at IS NOT NULL",
  "CREATE INDEX files_not_stored ON vexel.files (created_at) WHERE state <> 'stored'",
  'CREATE TABLE vexel.file_space (owner TEXT COLLATE "C" PRIMARY KEY, bytes BIGINT NOT NULL)',
  `CREATE TABLE vexel.uploads (
    id           TEXT COLLATE "C" PRIMARY KEY,
    owner        TEXT COLLATE "C" NOT NULL,
    file_id      TEXT NOT NULL,
    bytes        BIGINT NOT NULL,
    filename     TEXT NOT NULL,
    purpose      TEXT NOT NULL,
    file_seconds BIGINT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    status       TEXT NOT NULL,
    parts        BIGINT NOT NULL,
    part_bytes   BIGINT NOT NULL
  )`,
  "CREATE INDEX uploads_by_expiry ON vexel.uploads (expires_at)",
  `CREATE TABLE vexel.upload_parts (
    upload_id TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    bytes     BIGINT NOT NULL,
    PRIMARY KEY (upload_id, id)
  )`,
];
