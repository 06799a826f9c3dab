/** The migrations of `jobs.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

/**
 * Files: `space`: how many bytes the file counts toward the quotas; `file_space` has the sums of each owner, and of all
 * owners under an empty name. `parts`: the parts of an upload that the content is in, as JSON.
 *
 * Jobs: `once`: the owner and its idempotency key. `served_at`: when a range of the job was last claimed. `holder` and
 * `lease_until`: the process that validates or finalizes the job, or runs the range. `waits_until` and `last_error`:
 * not claimed before that time, and why. `validations`: how often the job was claimed to be validated. `list_cost`: the
 * cost without the discount of a vendor's batch. `event_at`: the job has ended, and its event is not recorded yet.
 * `phase` and the columns after it: `RangePhase` and `ClaimedRange` of `server/storage/sql/stored-job.ts`.
 *
 * Uploads: `parts` and `part_bytes`: the number and the bytes of its parts.
 */
const tables: Migration = {
  name: "0001-tables",
  statements: [
    `CREATE TABLE files (
      id         TEXT PRIMARY KEY,
      owner      TEXT NOT NULL,
      purpose    TEXT NOT NULL,
      filename   TEXT NOT NULL,
      bytes      INTEGER NOT NULL,
      space      INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      state      TEXT NOT NULL,
      parts      TEXT
    ) WITHOUT ROWID`,
    "CREATE INDEX files_by_owner ON files (owner, id)",
    "CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX files_not_stored ON files (created_at) WHERE state <> 'stored'",
    "CREATE TABLE file_space (owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID",
    `CREATE TABLE jobs (
      id            TEXT PRIMARY KEY,
      kind          TEXT NOT NULL,
      endpoint      TEXT NOT NULL,
      owner         TEXT NOT NULL,
      key_id        TEXT NOT NULL,
      status        TEXT NOT NULL,
      ending        TEXT,
      created_at    INTEGER NOT NULL,
      started_at    INTEGER,
      paused_at     INTEGER,
      cancelling_at INTEGER,
      finalizing_at INTEGER,
      ended_at      INTEGER,
      deadline      INTEGER NOT NULL,
      expires_at    INTEGER NOT NULL,
      lines         INTEGER NOT NULL,
      completed     INTEGER NOT NULL,
      failed        INTEGER NOT NULL,
      bytes         INTEGER NOT NULL,
      cost          REAL,
      list_cost     REAL,
      holder        TEXT,
      lease_until   INTEGER NOT NULL,
      waits_until   INTEGER NOT NULL DEFAULT 0,
      last_error    TEXT,
      served_at     INTEGER NOT NULL,
      event_at      INTEGER,
      validations   INTEGER NOT NULL DEFAULT 0,
      line_errors   TEXT,
      error         TEXT,
      data          TEXT NOT NULL,
      once          TEXT UNIQUE
    ) WITHOUT ROWID`,
    "CREATE INDEX jobs_by_owner ON jobs (owner, kind, id)",
    "CREATE INDEX jobs_by_time ON jobs (created_at, id)",
    "CREATE INDEX jobs_open ON jobs (kind, key_id, status, served_at) WHERE ended_at IS NULL",
    "CREATE INDEX jobs_by_expiry ON jobs (expires_at)",
    "CREATE INDEX jobs_usage ON jobs (owner, ended_at, bytes)",
    "CREATE INDEX jobs_unannounced ON jobs (event_at) WHERE event_at IS NOT NULL",
    `CREATE TABLE job_ranges (
      job_id      TEXT NOT NULL,
      number      INTEGER NOT NULL,
      first_line  INTEGER NOT NULL,
      lines       INTEGER NOT NULL,
      position    INTEGER NOT NULL,
      settled     INTEGER NOT NULL,
      attempts    INTEGER NOT NULL,
      holder      TEXT,
      lease_until INTEGER NOT NULL,
      waits_until INTEGER NOT NULL DEFAULT 0,
      last_error  TEXT,
      phase       TEXT NOT NULL,
      phase_since INTEGER NOT NULL,
      readings    INTEGER NOT NULL DEFAULT 0,
      sent        INTEGER NOT NULL DEFAULT 0,
      upstream_operations TEXT,
      vendor_batch  TEXT,
      reserved      TEXT,
      PRIMARY KEY (job_id, number)
    ) WITHOUT ROWID`,
    "CREATE INDEX job_ranges_open ON job_ranges (job_id, number) WHERE settled < lines",
    "CREATE INDEX job_ranges_held ON job_ranges (holder) WHERE holder IS NOT NULL",
    "CREATE INDEX job_ranges_reserved ON job_ranges (job_id) WHERE reserved IS NOT NULL",
    "CREATE INDEX job_ranges_failing ON job_ranges (job_id, waits_until) WHERE last_error IS NOT NULL",
    "CREATE INDEX job_ranges_at_vendor ON job_ranges (waits_until) WHERE vendor_batch IS NOT NULL",
    `CREATE TABLE uploads (
      id           TEXT PRIMARY KEY,
      owner        TEXT NOT NULL,
      file_id      TEXT NOT NULL,
      bytes        INTEGER NOT NULL,
      filename     TEXT NOT NULL,
      purpose      TEXT NOT NULL,
      file_seconds INTEGER,
      created_at   INTEGER NOT NULL,
      expires_at   INTEGER NOT NULL,
      status       TEXT NOT NULL,
      parts        INTEGER NOT NULL,
      part_bytes   INTEGER NOT NULL
    ) WITHOUT ROWID`,
    "CREATE INDEX uploads_by_expiry ON uploads (expires_at)",
    `CREATE TABLE upload_parts (
      upload_id TEXT NOT NULL,
      id        TEXT NOT NULL,
      bytes     INTEGER NOT NULL,
      PRIMARY KEY (upload_id, id)
    ) WITHOUT ROWID`,
  ],
};

export const jobMigrations: readonly Migration[] = [tables];
