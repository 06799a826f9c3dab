/** Jobs in a SQL database. Each range of lines is claimed under a lease by one process. */
import type {
  Claim,
  ClaimedRange,
  CreatedJob,
  JobEnd,
  JobQuota,
  JobStore,
  NewJob,
  NewRange,
  RangeClaim,
  SettledLines,
  StoredJob,
} from "../ports/job-store.ts";
import type { PageRequest, StoredPage } from "../ports/page.ts";
import { Parameters, type Queries, type SqlDatabase, type SqlInteger } from "./database.ts";
import { type JobRow, jobOf, type RangeRow, rangeOf } from "./job-rows.ts";

/** Rows of one INSERT. */
const rangesPerInsert = 500;

export const createJobStore = (db: SqlDatabase): JobStore => ({
  create: (job, own, all) => db.transaction((queries) => create(queries, job, own, all)),

  find: (owner, id) => findOne(db, "id = $1 AND owner = $2", [id, owner]),

  findByKey: (owner, idempotencyKey) => findOne(db, "once = $1", [onceOf(owner, idempotencyKey)]),

  async list(owner, kind, { after, limit }) {
    if (after !== undefined && !(await findOne(db, "id = $1 AND owner = $2", [after, owner])))
      return undefined;
    const parameters = new Parameters();
    const conditions = [`owner = ${parameters.add(owner)}`, `kind = ${parameters.add(kind)}`];
    if (after !== undefined) conditions.push(`id < ${parameters.add(after)}`);
    const { rows } = await db.query<JobRow>(
      `SELECT * FROM vexel.jobs WHERE ${conditions.join(" AND ")}
       ORDER BY id DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    return rows.map(jobOf);
  },

  findById: (id) => findOne(db, "id = $1", [id]),

  listAll: (owners, page) => listAll(db, owners, page),

  async remove(id) {
    const { count } = await db.query(
      "DELETE FROM vexel.jobs WHERE id = $1 AND ended_at IS NOT NULL",
      [id],
    );
    return count > 0;
  },

  async claimJob({ kind, holder, now, until }) {
    const { rows } = await db.query<JobRow>(
      `UPDATE vexel.jobs SET holder = $2, lease_until = $4 WHERE id = (
         SELECT id FROM vexel.jobs
         WHERE kind = $1 AND ended_at IS NULL AND status IN ('validating', 'finalizing')
           AND lease_until <= $3
           AND NOT EXISTS (SELECT 1 FROM vexel.job_ranges
             WHERE job_id = vexel.jobs.id AND holder IS NOT NULL AND job_ranges.lease_until > $3)
         ORDER BY served_at LIMIT 1 ${db.lockRows}
       ) RETURNING *`,
      [kind, holder, now, until],
    );
    return rows[0] && jobOf(rows[0]);
  },

  start: (id, holder, ranges, data) =>
    db.transaction(async (queries) => {
      const { count } = await queries.query(
        `UPDATE vexel.jobs SET status = 'in_progress', holder = NULL, lease_until = 0, lines = $3,
           data = coalesce($4, data)
         WHERE id = $1 AND holder = $2 AND status = 'validating'`,
        [id, holder, linesOf(ranges), data === undefined ? null : JSON.stringify(data)],
      );
      if (count > 0) await addRanges(queries, id, ranges);
      return count > 0;
    }),

  end: (id, holder, end) => db.transaction((queries) => endJob(queries, id, holder, end)),

  async listUnannounced(limit) {
    const { rows } = await db.query<JobRow>(
      "SELECT * FROM vexel.jobs WHERE event_at IS NOT NULL ORDER BY event_at LIMIT $1",
      [limit],
    );
    return rows.map(jobOf);
  },

  async setAnnounced(id) {
    await db.query("UPDATE vexel.jobs SET event_at = NULL WHERE id = $1", [id]);
  },

  async releaseJob(id, holder, at) {
    await db.query(
      "UPDATE vexel.jobs SET holder = NULL, lease_until = $3 WHERE id = $1 AND holder = $2",
      [id, holder, at],
    );
  },

  claimRange: (claim) => db.transaction((queries) => claimRange(queries, claim, db.lockRows)),

  async recordIntent({ jobId, number, holder }, intent) {
    const { count } = await db.query(
      `UPDATE vexel.job_ranges SET intent = $4
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, intent],
    );
    return count > 0;
  },

  async recordVendorBatch({ jobId, number, holder }, vendorBatch) {
    const { count } = await db.query(
      `UPDATE vexel.job_ranges SET vendor_batch = $4
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, vendorBatch],
    );
    return count > 0;
  },

  async listVendorBatches(jobId) {
    const { rows } = await db.query<Pick<RangeRow, "vendor_batch">>(
      `SELECT vendor_batch FROM vexel.job_ranges
       WHERE job_id = $1 AND vendor_batch IS NOT NULL ORDER BY number`,
      [jobId],
    );
    return rows.map(({ vendor_batch: recorded }) => recorded ?? "");
  },

  settle: (claim, lines) => db.transaction((queries) => settle(queries, claim, lines)),

  async releaseRange({ jobId, number, holder }, at, isUnused = false) {
    await db.query(
      `UPDATE vexel.job_ranges SET holder = NULL, lease_until = $4, attempts = attempts - $5
       WHERE job_id = $1 AND number = $2 AND holder = $3`,
      [jobId, number, holder, at, isUnused ? 1 : 0],
    );
  },

  async renew(holders, until) {
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

  async releaseAll() {
    await db.query("UPDATE vexel.job_ranges SET holder = NULL, lease_until = 0");
    await db.query("UPDATE vexel.jobs SET holder = NULL, lease_until = 0 WHERE ended_at IS NULL");
  },

  cancel: (owner, id, now) =>
    db.transaction(async (queries) => {
      await queries.query(
        `UPDATE vexel.jobs SET ending = 'cancelled', cancelling_at = $3, paused_at = NULL
         WHERE id = $1 AND owner = $2 AND status IN ('validating', 'in_progress')
           AND ending IS NULL`,
        [id, owner, now],
      );
      // A range that waits is claimed now: a batch at a vendor is canceled there.
      await queries.query(
        `UPDATE vexel.job_ranges SET lease_until = 0 WHERE job_id = $1 AND holder IS NULL`,
        [id],
      );
      return findOne(queries, "id = $1 AND owner = $2", [id, owner]);
    }),

  pause: (owner, id, at) =>
    db.transaction(async (queries) => {
      await queries.query(
        `UPDATE vexel.jobs SET paused_at = $3
         WHERE id = $1 AND owner = $2 AND status IN ('validating', 'in_progress')
           AND ending IS NULL`,
        [id, owner, at],
      );
      return findOne(queries, "id = $1 AND owner = $2", [id, owner]);
    }),

  async fail(id, error, now) {
    await db.query(
      `UPDATE vexel.jobs SET status = 'finalizing', ending = 'failed', error = $2,
         finalizing_at = $3
       WHERE id = $1 AND status = 'in_progress'`,
      [id, JSON.stringify(error), now],
    );
  },

  async expire(now) {
    await db.query(
      `UPDATE vexel.jobs SET ending = 'expired', paused_at = NULL
       WHERE ended_at IS NULL AND status IN ('validating', 'in_progress') AND ending IS NULL
         AND deadline <= $1`,
      [now],
    );
  },

  async listExpired(now, limit) {
    const { rows } = await db.query<JobRow>(
      `SELECT * FROM vexel.jobs WHERE expires_at <= $1 AND ended_at IS NOT NULL
       ORDER BY expires_at LIMIT $2`,
      [now, limit],
    );
    return rows.map(jobOf);
  },
});

/** The owner comes first and has a length, so that no two pairs have the same text. */
const onceOf = (owner: string, idempotencyKey: string): string =>
  `${owner.length} ${owner} ${idempotencyKey}`;

const linesOf = (ranges: readonly NewRange[]): number =>
  ranges.reduce((sum, { lines }) => sum + lines, 0);

async function findOne(
  queries: Queries,
  condition: string,
  values: readonly string[],
): Promise<StoredJob | undefined> {
  const { rows } = await queries.query<JobRow>(
    `SELECT * FROM vexel.jobs WHERE ${condition}`,
    values,
  );
  return rows[0] && jobOf(rows[0]);
}

/** The cursor is the time and the id of the last job of the page before. */
async function listAll(
  queries: Queries,
  owners: readonly string[] | null,
  { cursor, limit }: PageRequest,
): Promise<StoredPage<StoredJob>> {
  if (owners?.length === 0) return { entries: [] };
  const parameters = new Parameters();
  const conditions: string[] = [];
  if (owners) {
    const list = owners.map((owner) => parameters.add(owner)).join(", ");
    conditions.push(`owner IN (${list})`);
  }
  if (cursor !== undefined) {
    const [time = "", id = ""] = cursor.split(" ");
    const at = parameters.add(Number(time) || 0);
    conditions.push(`(created_at < ${at} OR created_at = ${at} AND id < ${parameters.add(id)})`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const { rows } = await queries.query<JobRow>(
    `SELECT * FROM vexel.jobs ${where}
     ORDER BY created_at DESC, id DESC LIMIT ${parameters.add(limit + 1)}`,
    parameters.values,
  );
  const entries = rows.slice(0, limit).map(jobOf);
  const last = entries.at(-1);
  return rows.length > limit && last
    ? { entries, next: `${last.createdAt} ${last.id}` }
    : { entries };
}

async function create(
  queries: Queries,
  job: NewJob,
  own: JobQuota,
  all: JobQuota,
): Promise<CreatedJob> {
  const once = job.idempotencyKey === undefined ? null : onceOf(job.owner, job.idempotencyKey);
  const existing = once === null ? undefined : await findOne(queries, "once = $1", [once]);
  if (existing) return { kind: "existing", job: existing };
  const exceeded =
    (await exceededQuota(queries, job, own, job.owner)) ?? (await exceededQuota(queries, job, all));
  if (exceeded) return exceeded;
  const { ranges = [] } = job;
  const { rows } = await queries.query<JobRow>(
    `INSERT INTO vexel.jobs (id, kind, endpoint, owner, key_id, status, created_at, deadline,
       expires_at, lines, completed, failed, bytes, lease_until, served_at, data, once, holder)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, $11, $14, $7, $12, $13, $15)
     ON CONFLICT DO NOTHING RETURNING *`,
    [
      job.id,
      job.kind,
      job.endpoint,
      job.owner,
      job.keyId,
      job.status,
      job.createdAt,
      job.deadline,
      job.expiresAt,
      linesOf(ranges),
      job.bytes,
      JSON.stringify(job.data),
      once,
      job.claim?.until ?? 0,
      job.claim?.holder ?? null,
    ],
  );
  if (rows[0]) {
    await addRanges(queries, job.id, ranges);
    return { kind: "created", job: jobOf(rows[0]) };
  }
  // Another replica has created it meanwhile.
  const other = await findOne(queries, "once = $1", [once ?? ""]);
  if (!other) throw new Error(`The job ${job.id} exists already.`);
  return { kind: "existing", job: other };
}

/** `owner`: absent for all owners together. */
async function exceededQuota(
  queries: Queries,
  { bytes }: NewJob,
  quota: JobQuota,
  owner?: string,
): Promise<CreatedJob | undefined> {
  const { rows } = await queries.query<{ open: SqlInteger; bytes: number | null }>(
    `SELECT count(*) - count(ended_at) AS open, sum(bytes) AS bytes FROM vexel.jobs
     WHERE ${owner === undefined ? "true" : "owner = $1"}`,
    owner === undefined ? [] : [owner],
  );
  const isOwn = owner !== undefined;
  if (Number(rows[0]?.open) >= quota.jobs) return { kind: "over_quota", quota: "jobs", isOwn };
  if ((rows[0]?.bytes ?? 0) + bytes > quota.bytes)
    return { kind: "over_quota", quota: "bytes", isOwn };
  return undefined;
}

async function addRanges(queries: Queries, id: string, ranges: readonly NewRange[]): Promise<void> {
  for (let at = 0; at < ranges.length; at += rangesPerInsert) {
    const parameters = new Parameters();
    const job = parameters.add(id);
    const rows = ranges
      .slice(at, at + rangesPerInsert)
      .map(({ firstLine, lines, position }, index) =>
        [at + index, firstLine, lines, position].map((value) => parameters.add(value)).join(", "),
      );
    await queries.query(
      `INSERT INTO vexel.job_ranges (job_id, number, first_line, lines, position, settled,
         attempts, lease_until)
       VALUES ${rows.map((row) => `(${job}, ${row}, 0, 0, 0)`).join(", ")}`,
      parameters.values,
    );
  }
}

/** The job is locked first, so that its ranges are claimed one after the other. */
async function claimRange(
  queries: Queries,
  { kind, holder, now, until, exceptEndpoint = "" }: Claim,
  lockRows: string,
): Promise<ClaimedRange | undefined> {
  const { rows: jobs } = await queries.query<JobRow>(
    `UPDATE vexel.jobs SET served_at = $2, started_at = coalesce(started_at, $2) WHERE id = (
       SELECT id FROM vexel.jobs
       WHERE kind = $1 AND ended_at IS NULL AND status = 'in_progress' AND paused_at IS NULL
         AND endpoint <> $3 AND EXISTS (SELECT 1 FROM vexel.job_ranges
           WHERE job_id = vexel.jobs.id AND settled < job_ranges.lines
             AND job_ranges.lease_until <= $2)
       ORDER BY served_at LIMIT 1 ${lockRows}
     ) RETURNING *`,
    [kind, now, exceptEndpoint],
  );
  if (!jobs[0]) return undefined;
  const job = jobOf(jobs[0]);
  const { rows } = await queries.query<RangeRow>(
    `UPDATE vexel.job_ranges SET holder = $2, lease_until = $4, attempts = attempts + 1
     WHERE job_id = $1 AND number = (
       SELECT number FROM vexel.job_ranges
       WHERE job_id = $1 AND settled < lines AND lease_until <= $3
       ORDER BY number LIMIT 1
     ) RETURNING *`,
    [job.id, holder, now, until],
  );
  return rows[0] && rangeOf(rows[0], job);
}

/** The job is locked first: of the last two ranges that end at the same time, one sees that the other has ended. */
async function settle(
  queries: Queries,
  { jobId, number, holder }: RangeClaim,
  { from, completed, failed, bytes, cost, listCost, now }: SettledLines,
): Promise<boolean> {
  await queries.query("UPDATE vexel.jobs SET served_at = served_at WHERE id = $1", [jobId]);
  const { count } = await queries.query(
    `UPDATE vexel.job_ranges SET settled = $5, intent = NULL,
       holder = CASE WHEN lines = $5 THEN NULL ELSE holder END
     WHERE job_id = $1 AND number = $2 AND holder = $3 AND settled = $4`,
    [jobId, number, holder, from, from + completed + failed],
  );
  if (count === 0) return false;
  await queries.query(
    `UPDATE vexel.jobs SET completed = completed + $2, failed = failed + $3, bytes = bytes + $4,
       cost = coalesce(coalesce(cost, 0) + CAST($5 AS DOUBLE PRECISION), cost),
       list_cost = coalesce(coalesce(list_cost, 0) + CAST($6 AS DOUBLE PRECISION), list_cost)
     WHERE id = $1`,
    [jobId, completed, failed, bytes, cost, listCost],
  );
  await queries.query(
    `UPDATE vexel.jobs SET status = 'finalizing', finalizing_at = $2
     WHERE id = $1 AND status = 'in_progress' AND NOT EXISTS (
       SELECT 1 FROM vexel.job_ranges WHERE job_id = $1 AND settled < job_ranges.lines)`,
    [jobId, now],
  );
  return true;
}

async function endJob(
  queries: Queries,
  id: string,
  holder: string,
  { status, at, expiresAt, bytes, error, data, hasNoResults = false }: JobEnd,
): Promise<StoredJob | undefined> {
  const { rows } = await queries.query<JobRow>(
    `UPDATE vexel.jobs SET status = $3, ended_at = $4, event_at = $4, expires_at = $5,
       error = coalesce($6, error),
       completed = CASE WHEN $9 THEN 0 ELSE completed END,
       failed = CASE WHEN $9 THEN lines WHEN ending = 'failed' THEN lines - completed
         ELSE failed END,
       data = coalesce($7, data), bytes = coalesce($8, bytes), holder = NULL, lease_until = 0
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
    ],
  );
  if (!rows[0]) return undefined;
  await queries.query("DELETE FROM vexel.job_ranges WHERE job_id = $1", [id]);
  return jobOf(rows[0]);
}
