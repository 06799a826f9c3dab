/**
 * Jobs in a SQL database. Each range of lines is claimed under a lease by one process; how far it has come is one
 * number, so there is no row per line.
 */

import { createJob, findJob, onceOf } from "./create-job.ts";
import { Parameters, type Queries, type SqlDatabase } from "./database.ts";
import { claimJob, claimRange, listWaiting } from "./job-claims.ts";
import { readJobPage } from "./job-pages.ts";
import { addRanges, linesOf, settleLines } from "./job-ranges.ts";
import type { PageRequest, StoredPage } from "./page.ts";
import {
  type Claim,
  type ClaimedRange,
  type CreatedJob,
  type JobData,
  type JobEnd,
  type JobError,
  type JobKindName,
  type JobOwner,
  type JobPage,
  type JobQuota,
  type JobRow,
  jobColumns,
  jobOf,
  type NewJob,
  type NewRange,
  type RangeClaim,
  type RangeReservation,
  type RangeRow,
  type RangeState,
  type ReservedRange,
  type ReservedRow,
  rangeOf,
  type SettledLines,
  type StoredJob,
  type Wait,
  type Work,
} from "./stored-job.ts";

/** Every method rejects once the store is closed. */
export const createJobStore = (db: SqlDatabase) => ({
  /** `own` and `all`: the quotas of the owner, and of all owners together. */
  create: (job: NewJob, own: JobQuota, all: JobQuota): Promise<CreatedJob> =>
    db.transaction((queries) => createJob(queries, job, own, all)),

  /** Undefined if there is none, or it belongs to another owner. */
  find: (owner: string, id: string): Promise<StoredJob | undefined> =>
    findJob(db, "id = $1 AND owner = $2", [id, owner]),

  /** By its idempotency key. */
  findByKey: (owner: string, idempotencyKey: string): Promise<StoredJob | undefined> =>
    findJob(db, "once = $1", [onceOf(owner, idempotencyKey)]),

  /** Newest first. The cursor is the id of the last job. Undefined if the job `after` does not exist. */
  async list(
    owner: string,
    kind: JobKindName,
    { after, limit }: JobPage,
  ): Promise<StoredPage<StoredJob> | undefined> {
    if (after !== undefined && !(await findJob(db, "id = $1 AND owner = $2", [after, owner])))
      return undefined;
    return readJobPage({
      limit,
      cursorOf: ({ id }) => id,
      readStep: async (last, count) => {
        const parameters = new Parameters();
        const conditions = [`owner = ${parameters.add(owner)}`, `kind = ${parameters.add(kind)}`];
        const before = last?.id ?? after;
        if (before !== undefined) conditions.push(`id < ${parameters.add(before)}`);
        const { rows } = await db.query<JobRow>(
          `SELECT ${jobColumns} FROM vexel.jobs WHERE ${conditions.join(" AND ")}
           ORDER BY id DESC LIMIT ${parameters.add(count)}`,
          parameters.values,
        );
        return rows;
      },
    });
  },

  /** Of any owner. */
  findById: (id: string): Promise<StoredJob | undefined> => findJob(db, "id = $1", [id]),

  /** Of every kind, newest first. `owners`: null lists the jobs of all owners. */
  listAll: (owners: readonly string[] | null, page: PageRequest): Promise<StoredPage<StoredJob>> =>
    listAll(db, owners, page),

  /** Deletes a job that has ended. False: there is none. */
  remove: (id: string): Promise<boolean> =>
    db.transaction(async (queries) => {
      const { count } = await queries.query(
        "DELETE FROM vexel.jobs WHERE id = $1 AND ended_at IS NOT NULL",
        [id],
      );
      if (count > 0) await queries.query("DELETE FROM vexel.job_ranges WHERE job_id = $1", [id]);
      return count > 0;
    }),

  /** The API keys whose jobs have such work, in no order. */
  listWaiting: (work: Work): Promise<readonly JobOwner[]> => listWaiting(db, work),

  /** Claims a job that is to be validated, or to be finalized and of which no process holds a range. */
  claimJob: (claim: Claim): Promise<StoredJob | undefined> => claimJob(db, claim, db.lockRows),

  /** Deletes a claimed job that was not accepted. False: the claim was lost, or the job has started. */
  async discard(id: string, holder: string): Promise<boolean> {
    const { count } = await db.query(
      "DELETE FROM vexel.jobs WHERE id = $1 AND holder = $2 AND status = 'validating'",
      [id, holder],
    );
    return count > 0;
  },

  /** A validated job begins. False: the claim was lost. */
  start: (
    id: string,
    holder: string,
    ranges: readonly NewRange[],
    data: JobData | undefined,
    now: number,
  ): Promise<boolean> =>
    db.transaction(async (queries) => {
      const { count } = await queries.query(
        `UPDATE vexel.jobs SET status = 'in_progress', holder = NULL, lease_until = 0, lines = $3,
           data = coalesce($4, data), last_error = NULL
         WHERE id = $1 AND holder = $2 AND status = 'validating'`,
        [id, holder, linesOf(ranges), data === undefined ? null : JSON.stringify(data)],
      );
      if (count > 0) await addRanges(queries, id, ranges, now);
      return count > 0;
    }),

  /**
   * Ends a job that this process has claimed, deletes its ranges without a batch of a vendor, and notes that its event
   * is to be recorded. If the job could not continue, its lines without a result count as failed. Undefined if the
   * claim was lost.
   */
  end: (id: string, holder: string, end: JobEnd): Promise<StoredJob | undefined> =>
    db.transaction((queries) => endJob(queries, id, holder, end)),

  /** Jobs that have ended and whose event is not recorded yet, at most `limit`. */
  async listUnannounced(limit: number): Promise<readonly StoredJob[]> {
    const { rows } = await db.query<JobRow>(
      "SELECT * FROM vexel.jobs WHERE event_at IS NOT NULL ORDER BY event_at LIMIT $1",
      [limit],
    );
    return rows.map(jobOf);
  },

  /** The event of the job is recorded. */
  async setAnnounced(id: string): Promise<void> {
    await db.query("UPDATE vexel.jobs SET event_at = NULL WHERE id = $1", [id]);
  },

  /** Gives a claimed job back. `validations`: how often it was claimed to be validated, as far as that counts. */
  async releaseJob(
    { id, validations }: Pick<StoredJob, "id" | "validations">,
    holder: string,
    wait: Wait,
  ): Promise<void> {
    await db.query(
      `UPDATE vexel.jobs SET holder = NULL, lease_until = 0, waits_until = $3, last_error = $4,
         validations = $5
       WHERE id = $1 AND holder = $2`,
      [id, holder, ...valuesOf(wait), validations],
    );
  },

  /** Claims the next range, of the job that waits longest for a claim. */
  claimRange: (claim: Claim): Promise<ClaimedRange | undefined> =>
    db.transaction((queries) => claimRange(queries, claim, db.lockRows)),

  /**
   * Records how many upstream requests of a line are sent, before they are, and the upstreams' operations. `sent` is 0
   * if no sent request is billed. Returns false if the claim was lost: then nothing may be sent.
   */
  async recordSent(
    { jobId, number, holder }: RangeClaim,
    sent: number,
    upstreamOperations: string | null,
  ): Promise<boolean> {
    const { count } = await db.query(
      `UPDATE vexel.job_ranges SET sent = $4, upstream_operations = $5
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, sent, upstreamOperations],
    );
    return count > 0;
  },

  /** Records what the vendor that runs the lines of the range has got. False: the claim was lost. */
  async recordState(
    { jobId, number, holder }: RangeClaim,
    { phase, phaseSince, readings, vendorBatch, reserved }: RangeState,
  ): Promise<boolean> {
    const { count } = await db.query(
      `UPDATE vexel.job_ranges SET phase = $4, phase_since = $5, readings = $6, vendor_batch = $7,
         reserved = $8
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [
        jobId,
        number,
        holder,
        phase,
        phaseSince,
        readings,
        vendorBatch,
        reserved && JSON.stringify(reserved),
      ],
    );
    return count > 0;
  },

  /** The holder of the range tries a line again at that time. For clients that read the job. */
  async recordWait({ jobId, number, holder }: RangeClaim, wait: Wait): Promise<void> {
    await db.query(
      `UPDATE vexel.job_ranges SET waits_until = $4, last_error = $5
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, ...valuesOf(wait)],
    );
  },

  /** What is reserved for ranges whose lines have not ended. */
  async listReserved(): Promise<readonly ReservedRange[]> {
    const { rows } = await db.query<ReservedRow>(
      `SELECT job_id, number, reserved, owner, key_id
       FROM vexel.job_ranges JOIN vexel.jobs ON jobs.id = job_ranges.job_id
       WHERE reserved IS NOT NULL AND settled < job_ranges.lines`,
    );
    return rows.map((row) => ({
      jobId: row.job_id,
      number: row.number,
      owner: row.owner,
      keyId: row.key_id,
      reserved: JSON.parse(row.reserved) as RangeReservation,
    }));
  },

  /** Ranges that have ended, or whose job has or cannot continue, with a batch of a vendor. At most `limit`. */
  async listUncleaned(now: number, limit: number): Promise<readonly ClaimedRange[]> {
    const { rows } = await db.query<RangeRow & { readonly job_id: string }>(
      `SELECT job_ranges.* FROM vexel.job_ranges JOIN vexel.jobs ON jobs.id = job_ranges.job_id
       WHERE vendor_batch IS NOT NULL AND job_ranges.holder IS NULL
         AND job_ranges.waits_until <= $1
         AND (settled >= job_ranges.lines OR ended_at IS NOT NULL OR ending = 'failed')
       ORDER BY job_ranges.waits_until LIMIT $2`,
      [now, limit],
    );
    const ranges: ClaimedRange[] = [];
    for (const row of rows) {
      const job = await findJob(db, "id = $1", [row.job_id]);
      if (job) ranges.push(rangeOf(row, job));
    }
    return ranges;
  },

  /** The ranges of a job that have not ended and have a batch of a vendor. */
  async listAtVendor(job: StoredJob): Promise<readonly ClaimedRange[]> {
    const { rows } = await db.query<RangeRow>(
      `SELECT * FROM vexel.job_ranges
       WHERE job_id = $1 AND vendor_batch IS NOT NULL AND settled < lines ORDER BY number`,
      [job.id],
    );
    return rows.map((row) => rangeOf(row, job));
  },

  /**
   * Nothing of the range is left at the vendor: its row is deleted. `at`: something is, and it is listed from then on.
   */
  async setCleaned(jobId: string, number: number, at?: number): Promise<void> {
    const condition = "WHERE job_id = $1 AND number = $2";
    if (at === undefined)
      await db.query(`DELETE FROM vexel.job_ranges ${condition}`, [jobId, number]);
    else
      await db.query(`UPDATE vexel.job_ranges SET waits_until = $3 ${condition}`, [
        jobId,
        number,
        at,
      ]);
  },

  /** The next lines of the range have ended. False: the claim was lost, and they do not count. */
  settle: (claim: RangeClaim, lines: SettledLines): Promise<boolean> =>
    db.transaction((queries) => settleLines(queries, claim, lines)),

  /** Gives a range back. What was sent stays recorded, and without a `wait` the wait of a line, too. */
  async releaseRange({ jobId, number, holder }: RangeClaim, wait?: Wait): Promise<void> {
    await db.query(
      `UPDATE vexel.job_ranges SET holder = NULL, lease_until = 0
         ${wait ? ", waits_until = $4, last_error = $5" : ""}
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, ...(wait ? valuesOf(wait) : [])],
    );
  },

  /** Extends the leases of these holders, at least one. Returns the jobs of which they hold a claim. */
  async renew(holders: readonly string[], until: number): Promise<readonly StoredJob[]> {
    const parameters = new Parameters();
    const held = `holder IN (${holders.map((holder) => parameters.add(holder)).join(", ")})`;
    const end = `$${holders.length + 1}`;
    for (const table of ["job_ranges", "jobs"]) {
      await db.query(`UPDATE vexel.${table} SET lease_until = ${end} WHERE ${held}`, [
        ...parameters.values,
        until,
      ]);
    }
    const { rows } = await db.query<JobRow>(
      `SELECT * FROM vexel.jobs WHERE ended_at IS NULL AND (${held}
         OR id IN (SELECT job_id FROM vexel.job_ranges WHERE ${held}))`,
      parameters.values,
    );
    return rows.map(jobOf);
  },

  /** At the start of the only process of a data folder: the leases of earlier processes end. */
  async releaseAll(now: number): Promise<void> {
    const free = "SET holder = NULL, lease_until = 0, waits_until = $1";
    await db.query(`UPDATE vexel.job_ranges ${free}`, [now]);
    await db.query(`UPDATE vexel.jobs ${free} WHERE ended_at IS NULL`, [now]);
  },

  /** Undefined if there is none. A job that has ended, or is ending, stays as it is. */
  cancel: (owner: string, id: string, now: number): Promise<StoredJob | undefined> =>
    db.transaction(async (queries) => {
      await queries.query(
        `UPDATE vexel.jobs SET ending = 'cancelled', cancelling_at = $3, paused_at = NULL
         WHERE id = $1 AND owner = $2 AND status IN ('validating', 'in_progress')
           AND ending IS NULL`,
        [id, owner, now],
      );
      // A range that waits is claimed now: a batch at a vendor is canceled there.
      await queries.query(
        `UPDATE vexel.job_ranges SET waits_until = $2
         WHERE job_id = $1 AND holder IS NULL AND waits_until > $2`,
        [id, now],
      );
      return findJob(queries, "id = $1 AND owner = $2", [id, owner]);
    }),

  /** A paused job begins no line. `at`: null resumes it. */
  pause: (owner: string, id: string, at: number | null): Promise<StoredJob | undefined> =>
    db.transaction(async (queries) => {
      await queries.query(
        `UPDATE vexel.jobs SET paused_at = $3
         WHERE id = $1 AND owner = $2 AND status IN ('validating', 'in_progress')
           AND ending IS NULL`,
        [id, owner, at],
      );
      return findJob(queries, "id = $1 AND owner = $2", [id, owner]);
    }),

  /** A job that cannot continue: its other lines never run, and it is finalized. */
  async fail(id: string, error: JobError, now: number): Promise<void> {
    await db.query(
      `UPDATE vexel.jobs SET status = 'finalizing', ending = 'failed', error = $2,
         finalizing_at = $3
       WHERE id = $1 AND status = 'in_progress'`,
      [id, JSON.stringify(error), now],
    );
  },

  /** The lines of jobs after their deadline end without running. */
  async expire(now: number): Promise<void> {
    await db.query(
      `UPDATE vexel.jobs SET ending = 'expired', paused_at = NULL
       WHERE ended_at IS NULL AND status IN ('validating', 'in_progress') AND ending IS NULL
         AND deadline <= $1`,
      [now],
    );
  },

  /** Jobs that are to be deleted, at most `limit`. */
  async listExpired(now: number, limit: number): Promise<readonly StoredJob[]> {
    const { rows } = await db.query<JobRow>(
      `SELECT * FROM vexel.jobs WHERE expires_at <= $1 AND ended_at IS NOT NULL
       ORDER BY expires_at LIMIT $2`,
      [now, limit],
    );
    return rows.map(jobOf);
  },
});

/** The columns `waits_until` and `last_error`. */
const valuesOf = ({ until, error }: Wait) => [until, error && JSON.stringify(error)] as const;

export type JobStore = ReturnType<typeof createJobStore>;

/** The cursor is the time and the id of the last job of the page before. */
function listAll(
  queries: Queries,
  owners: readonly string[] | null,
  { cursor, limit }: PageRequest,
): Promise<StoredPage<StoredJob>> {
  const cursorOf = ({ created_at, id }: JobRow): string => `${created_at} ${id}`;
  return readJobPage({
    limit,
    cursorOf,
    readStep: async (last, count) => {
      const parameters = new Parameters();
      const conditions = [owners ? parameters.inList("owner", owners) : "true"];
      const before = last ? cursorOf(last) : cursor;
      if (before !== undefined) {
        const [time = "", id = ""] = before.split(" ");
        conditions.push(
          `(created_at, id) < (${parameters.add(Number(time) || 0)}, ${parameters.add(id)})`,
        );
      }
      const { rows } = await queries.query<JobRow>(
        `SELECT ${jobColumns} FROM vexel.jobs WHERE ${conditions.join(" AND ")}
         ORDER BY created_at DESC, id DESC LIMIT ${parameters.add(count)}`,
        parameters.values,
      );
      return rows;
    },
  });
}

async function endJob(
  queries: Queries,
  id: string,
  holder: string,
  { status, at, expiresAt, bytes, error, data, hasNoResults = false, cost }: JobEnd,
): Promise<StoredJob | undefined> {
  const { rows } = await queries.query<JobRow>(
    `UPDATE vexel.jobs SET status = $3, ended_at = $4, event_at = $4, expires_at = $5,
       error = coalesce($6, error),
       completed = CASE WHEN $9 THEN 0 ELSE completed END,
       failed = CASE WHEN $9 THEN lines WHEN ending = 'failed' THEN lines - completed
         ELSE failed END,
       data = coalesce($7, data), bytes = coalesce($8, bytes), holder = NULL, lease_until = 0,
       last_error = NULL,
       cost = coalesce(coalesce(cost, 0) + CAST($10 AS DOUBLE PRECISION), cost)
     WHERE id = $1 AND holder = $2 AND ended_at IS NULL RETURNING *`,
    [
      id,
      holder,
      status,
      at,
      expiresAt,
      error ? JSON.stringify(error) : null,
      data === undefined ? null : JSON.stringify(data),
      bytes ?? null,
      hasNoResults,
      cost ?? null,
    ],
  );
  if (!rows[0]) return undefined;
  await queries.query("DELETE FROM vexel.job_ranges WHERE job_id = $1 AND vendor_batch IS NULL", [
    id,
  ]);
  await queries.query(
    `UPDATE vexel.job_ranges SET holder = NULL, waits_until = 0, last_error = NULL, reserved = NULL
     WHERE job_id = $1`,
    [id],
  );
  return jobOf(rows[0]);
}
