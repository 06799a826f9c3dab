/**
 * Jobs and their ranges of lines.
 *
 * `once`: the owner and its idempotency key. `served_at`: when a range of the job was last claimed. `holder` and
 * `lease_until`: the process that validates or finalizes the job, or runs the range. `validations`: how often the job was
 * claimed to be validated. `intent`: the line that was sent.
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
    holder        TEXT,
    lease_until   DOUBLE PRECISION NOT NULL,
    served_at     DOUBLE PRECISION NOT NULL,
    validations   INTEGER NOT NULL DEFAULT 0,
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
    intent      TEXT,
    PRIMARY KEY (job_id, number)
  )`,
  "CREATE INDEX job_ranges_open ON vexel.job_ranges (job_id, number) WHERE settled < lines",
  "CREATE INDEX job_ranges_held ON vexel.job_ranges (holder) WHERE holder IS NOT NULL",
];

/** `vendor_batch`: the batch of a vendor that runs the lines. `list_cost`: the cost without its discount. */
export const vendorBatchColumns: readonly string[] = [
  "ALTER TABLE vexel.job_ranges ADD COLUMN vendor_batch TEXT",
  "CREATE INDEX job_ranges_at_vendor ON vexel.job_ranges (lease_until) WHERE vendor_batch IS NOT NULL",
  "ALTER TABLE vexel.jobs ADD COLUMN list_cost DOUBLE PRECISION",
];

/** `reserved`: what is reserved in budgets for the lines, as JSON. Null: nothing. */
export const reservedCostColumns: readonly string[] = [
  "ALTER TABLE vexel.job_ranges ADD COLUMN reserved TEXT",
  "CREATE INDEX job_ranges_reserved ON vexel.job_ranges (job_id) WHERE reserved IS NOT NULL",
];

/** `event_at`: the job has ended, and its event is not recorded yet. */
export const jobEventColumns: readonly string[] = [
  "ALTER TABLE vexel.jobs ADD COLUMN event_at DOUBLE PRECISION",
  "CREATE INDEX jobs_unannounced ON vexel.jobs (event_at) WHERE event_at IS NOT NULL",
];
