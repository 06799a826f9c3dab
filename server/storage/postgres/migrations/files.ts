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
