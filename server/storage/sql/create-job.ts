/** Creates a job in a SQL database, unless it exists already or exceeds a quota. */
import type { Queries, SqlInteger } from "./database.ts";
import { addRanges, linesOf } from "./job-ranges.ts";
import {
  type CreatedJob,
  type JobQuota,
  type JobRow,
  jobColumns,
  jobOf,
  type NewJob,
  type StoredJob,
} from "./stored-job.ts";

/** The owner comes first and has a length, so that no two pairs have the same text. */
export const onceOf = (owner: string, idempotencyKey: string): string =>
  `${owner.length} ${owner} ${idempotencyKey}`;

export async function findJob(
  queries: Queries,
  condition: string,
  values: readonly string[],
): Promise<StoredJob | undefined> {
  const { rows } = await queries.query<JobRow>(
    `SELECT ${jobColumns} FROM vexel.jobs WHERE ${condition}`,
    values,
  );
  return rows[0] && jobOf(rows[0]);
}

/** In a transaction. */
export async function createJob(
  queries: Queries,
  job: NewJob,
  own: JobQuota,
  all: JobQuota,
): Promise<CreatedJob> {
  const once = job.idempotencyKey === undefined ? null : onceOf(job.owner, job.idempotencyKey);
  const existing = once === null ? undefined : await findJob(queries, "once = $1", [once]);
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
    await addRanges(queries, job.id, ranges, job.createdAt);
    return { kind: "created", job: jobOf(rows[0]) };
  }
  // Another replica has created it meanwhile.
  const other = await findJob(queries, "once = $1", [once ?? ""]);
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
