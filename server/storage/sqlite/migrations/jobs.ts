/** The migrations of `jobs.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

/** `file_quota_lock`: one row, which PostgreSQL locks while the quota of files is checked. */
const files: Migration = {
  name: "0001-files",
  statements: [
    `CREATE TABLE files (
      id         TEXT PRIMARY KEY,
      owner      TEXT NOT NULL,
      purpose    TEXT NOT NULL,
      filename   TEXT NOT NULL,
      bytes      INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      state      TEXT NOT NULL
    ) WITHOUT ROWID`,
    "CREATE INDEX files_by_owner ON files (owner, id)",
    "CREATE TABLE file_quota_lock (reservations INTEGER NOT NULL)",
    "INSERT INTO file_quota_lock (reservations) VALUES (0)",
  ],
};

export const jobMigrations: readonly Migration[] = [files];
