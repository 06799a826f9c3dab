/** Claims of jobs and of their ranges in a SQL database. Two processes never claim the same one. */
import { Parameters, type Queries } from "./database.ts";
import {
  type Claim,
  type ClaimedRange,
  type JobOwner,
  type JobRow,
  jobOf,
  type RangeRow,
  rangeOf,
  type StoredJob,
  type Work,
} from "./stored-job.ts";

/** A condition on `vexel.jobs`. */
function isClaimable({ endpoints, now, exceptExpired = false }: Work, parameters: Parameters) {
  const at = parameters.add(now);
  const free = (table: string): string =>
    `${table}.waits_until <= ${at} AND ${table}.lease_until <= ${at}${
      exceptExpired ? ` AND ${table}.holder IS NULL` : ""
    }`;
  if (endpoints) {
    return `status = 'in_progress' AND paused_at IS NULL
      AND ${parameters.inList("endpoint", endpoints)} AND EXISTS (SELECT 1 FROM vexel.job_ranges
        WHERE job_id = vexel.jobs.id AND settled < job_ranges.lines AND ${free("job_ranges")})`;
  }
  return `status IN ('validating', 'finalizing') AND ${free("jobs")}
    AND NOT EXISTS (SELECT 1 FROM vexel.job_ranges
      WHERE job_id = vexel.jobs.id AND job_ranges.holder IS NOT NULL
        ${exceptExpired ? "" : `AND job_ranges.lease_until > ${at}`})`;
}

/** The API keys whose jobs have such work. A key may have thousands of jobs, so each key is looked up in the index. */
export async function listWaiting(queries: Queries, work: Work): Promise<readonly JobOwner[]> {
  const parameters = new Parameters();
  const open = `kind = ${parameters.add(work.kind)} AND ended_at IS NULL`;
  const { rows } = await queries.query<{ readonly key_id: string; readonly owner: string }>(
    `WITH RECURSIVE open_keys (key_id) AS (
       SELECT min(key_id) FROM vexel.jobs WHERE ${open}
       UNION ALL
       SELECT (SELECT min(key_id) FROM vexel.jobs WHERE ${open} AND key_id > open_keys.key_id)
         FROM open_keys WHERE open_keys.key_id IS NOT NULL
     )
     SELECT key_id, owner FROM (
       SELECT key_id, (SELECT owner FROM vexel.jobs
         WHERE ${open} AND key_id = open_keys.key_id AND ${isClaimable(work, parameters)}
         ORDER BY served_at LIMIT 1) AS owner
       FROM open_keys WHERE key_id IS NOT NULL
     ) AS waiting WHERE owner IS NOT NULL`,
    parameters.values,
  );
  return rows.map(({ key_id: keyId, owner }) => ({ keyId, owner }));
}

/** The id of the job that waits longest for a claim, among those of one API key. */
const nextJob = (claim: Claim, parameters: Parameters, lockRows: string): string =>
  `SELECT id FROM vexel.jobs
   WHERE kind = ${parameters.add(claim.kind)} AND key_id = ${parameters.add(claim.keyId)}
     AND owner = ${parameters.add(claim.owner)} AND ended_at IS NULL
     AND ${isClaimable(claim, parameters)}
   ORDER BY served_at, id LIMIT 1 ${lockRows}`;

/** A job that is to be validated, or to be finalized and of which no process holds a range. */
export async function claimJob(
  queries: Queries,
  claim: Claim,
  lockRows: string,
): Promise<StoredJob | undefined> {
  const parameters = new Parameters();
  const [holder, until] = [parameters.add(claim.holder), parameters.add(claim.until)];
  const { rows } = await queries.query<JobRow>(
    `UPDATE vexel.jobs SET holder = ${holder}, lease_until = ${until},
       validations = validations + CASE status WHEN 'validating' THEN 1 ELSE 0 END
     WHERE id = (${nextJob(claim, parameters, lockRows)}) RETURNING *`,
    parameters.values,
  );
  return rows[0] && jobOf(rows[0]);
}

/** In a transaction. The job is locked first, so that its ranges are claimed one after the other. */
export async function claimRange(
  queries: Queries,
  claim: Claim,
  lockRows: string,
): Promise<ClaimedRange | undefined> {
  const { holder, now, until, exceptExpired = false } = claim;
  const parameters = new Parameters();
  const at = parameters.add(now);
  const { rows: jobs } = await queries.query<JobRow>(
    `UPDATE vexel.jobs SET served_at = ${at}, started_at = coalesce(started_at, ${at})
     WHERE id = (${nextJob(claim, parameters, lockRows)}) RETURNING *`,
    parameters.values,
  );
  if (!jobs[0]) return undefined;
  const job = jobOf(jobs[0]);
  const { rows } = await queries.query<RangeRow>(
    `UPDATE vexel.job_ranges SET holder = $2, lease_until = $4, attempts = attempts + 1
     WHERE job_id = $1 AND number = (
       SELECT number FROM vexel.job_ranges
       WHERE job_id = $1 AND settled < lines AND waits_until <= $3 AND lease_until <= $3
         AND (holder IS NULL OR NOT $5)
       ORDER BY number LIMIT 1
     ) RETURNING *`,
    [job.id, holder, now, until, exceptExpired],
  );
  return rows[0] && rangeOf(rows[0], job);
}
