/** Rows of the tables `jobs` and `job_ranges`, and the jobs that they store. */
import type {
  ClaimedRange,
  JobData,
  JobEnding,
  JobError,
  JobKindName,
  JobStatus,
  StoredJob,
} from "../ports/job-store.ts";

export interface JobRow {
  readonly id: string;
  readonly kind: JobKindName;
  readonly endpoint: string;
  readonly owner: string;
  readonly key_id: string;
  readonly status: JobStatus;
  readonly ending: JobEnding | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly paused_at: number | null;
  readonly cancelling_at: number | null;
  readonly finalizing_at: number | null;
  readonly ended_at: number | null;
  readonly deadline: number;
  readonly expires_at: number;
  readonly lines: number;
  readonly completed: number;
  readonly failed: number;
  readonly bytes: number;
  readonly cost: number | null;
  readonly list_cost: number | null;
  readonly error: string | null;
  readonly data: string;
}

export interface RangeRow {
  readonly number: number;
  readonly first_line: number;
  readonly lines: number;
  readonly position: number;
  readonly settled: number;
  readonly attempts: number;
  readonly intent: string | null;
  readonly vendor_batch: string | null;
}

export const jobOf = (row: JobRow): StoredJob => ({
  id: row.id,
  kind: row.kind,
  endpoint: row.endpoint,
  owner: row.owner,
  keyId: row.key_id,
  status: row.status,
  ending: row.ending,
  createdAt: row.created_at,
  startedAt: row.started_at,
  pausedAt: row.paused_at,
  cancellingAt: row.cancelling_at,
  finalizingAt: row.finalizing_at,
  endedAt: row.ended_at,
  deadline: row.deadline,
  expiresAt: row.expires_at,
  lines: row.lines,
  completed: row.completed,
  failed: row.failed,
  bytes: row.bytes,
  cost: row.cost,
  listCost: row.list_cost,
  error: row.error === null ? null : (JSON.parse(row.error) as JobError),
  data: JSON.parse(row.data) as JobData,
});

/** `attempts` of the row counts the claim that returned it. */
export const rangeOf = (row: RangeRow, job: StoredJob): ClaimedRange => ({
  job,
  number: row.number,
  firstLine: row.first_line,
  lines: row.lines,
  position: row.position,
  settled: row.settled,
  attempts: row.attempts - 1,
  intent: row.intent,
  vendorBatch: row.vendor_batch,
});
