/**
 * The files of clients, without their content. `file_quota_lock`: one row, which is locked while the quota of files is
 * checked.
 */

export const fileTables: readonly string[] = [
  `CREATE TABLE vexel.files (
    id         TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    purpose    TEXT NOT NULL,
    filename   TEXT NOT NULL,
    bytes      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    state      TEXT NOT NULL
  )`,
  "CREATE INDEX files_by_owner ON vexel.files (owner, id)",
  "CREATE TABLE vexel.file_quota_lock (reservations BIGINT NOT NULL)",
  "INSERT INTO vexel.file_quota_lock (reservations) VALUES (0)",
];

/** Uploads of files in parts, without the content of the parts. */
export const uploadTables: readonly string[] = [
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
    status       TEXT NOT NULL
  )`,
  "CREATE INDEX uploads_by_expiry ON vexel.uploads (expires_at)",
  `CREATE TABLE vexel.upload_parts (
    upload_id TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    bytes     BIGINT NOT NULL,
    PRIMARY KEY (upload_id, id)
  )`,
];
