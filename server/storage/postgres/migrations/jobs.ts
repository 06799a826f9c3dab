/**
 * Jobs and their ranges of lines.
 *
 * `once`: the owner and its idempotency key. `served_at`: when a range of the job was last claimed. `holder` and
 * `lease_until`: the process that validates or finalizes the job, or runs the range. `waits_until` and `last_error`:
 * not claimed before that time, and why. `validations`: how often the job was claimed to be validated. `list_cost`: the
 * cost without the discount of a vendor's batch. `event_at`: the job has ended, and its event is not recorded yet.
 * `phase` and the columns after it: `RangePhase` and `ClaimedRange` of `server/storage/sql/stored-job.ts`.
 */

export const jobTables: readonly string[] = [
  `CREATE TABLE vexel.jobs (
    id            TEXT COLLATE "C" PRIMARY KEY,
    kind          TEXT NOT NULL,
    endpoint      TEXT NOT NULL,
    owner         TEXT NOT NULL,
    key_id        TEXT NOT NULL,
    status        TEXT NOT NULL,
    ending        TEXT,
    created_at    DOUBLE PRECISION NOT NULL,
    started_at    DOUBLE PRECISION,
    paused_at     DOUBLE PRECISION,
    cancelling_at DOUBLE PRECISION,
    finalizing_at DOUBLE PRECISION,
    ended_at      DOUBLE PRECISION,
    deadline      DOUBLE PRECISION NOT NULL,
    expires_at    DOUBLE PRECISION NOT NULL,
    lines         INTEGER NOT NULL,
    completed     INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    bytes         DOUBLE PRECISION NOT NULL,
    cost          DOUBLE PRECISION,
    list_cost     DOUBLE PRECISION,
    holder        TEXT,
    lease_until   DOUBLE PRECISION NOT NULL,
    waits_until   DOUBLE PRECISION NOT NULL DEFAULT 0,
    last_error    TEXT,
    served_at     DOUBLE PRECISION NOT NULL,
    event_at      DOUBLE PRECISION,
    validations   INTEGER NOT NULL DEFAULT 0,
    line_errors   TEXT,
    error         TEXT,
    data          TEXT NOT NULL,
    once          TEXT UNIQUE
  )`,
  "CREATE INDEX jobs_by_owner ON vexel.jobs (owner, kind, id)",
  "CREATE INDEX jobs_by_time ON vexel.jobs (created_at, id)",
  "CREATE INDEX jobs_open ON vexel.jobs (kind, key_id, status, served_at) WHERE ended_at IS NULL",
  "CREATE INDEX jobs_by_expiry ON vexel.jobs (expires_at)",
  "CREATE INDEX jobs_usage ON vexel.jobs (owner, ended_at, bytes)",
  `CREATE TABLE vexel.job_ranges (
    job_id      TEXT COLLATE "C" NOT NULL REFERENCES vexel.jobs ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    first_line  INTEGER NOT NULL,
    lines       INTEGER NOT NULL,
    position    DOUBLE PRECISION NOT NULL,
    settled     INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    holder      TEXT,
    lease_until DOUBLE PRECISION NOT NULL,
    waits_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    last_error  TEXT,
    phase       TEXT NOT NULL,
    phase_since DOUBLE PRECISION NOT NULL,
    readings    INTEGER NOT NULL DEFAULT 0,
    sent        INTEGER NOT NULL DEFAULT 0,
    upstream_operations TEXT,
    vendor_batch  TEXT,
    reserved      TEXT,
    PRIMARY KEY (job_id, number)
  )`,
  "CREATE INDEX jobs_unannounced ON vexel.jobs (event_at) WHERE event_at IS NOT NULL",
  "CREATE INDEX job_ranges_open ON vexel.job_ranges (job_id, number) WHERE settled < lines",
  "CREATE INDEX job_ranges_held ON vexel.job_ranges (holder) WHERE holder IS NOT NULL",
  "CREATE INDEX job_ranges_reserved ON vexel.job_ranges (job_id) WHERE reserved IS NOT NULL",
  "CREATE INDEX job_ranges_failing ON vexel.job_ranges (job_id, waits_until) WHERE last_error IS NOT NULL",
  "CREATE INDEX job_ranges_at_vendor ON vexel.job_ranges (waits_until) WHERE vendor_batch IS NOT NULL",
];
