/** Jobs as the admin API shows them: progress, rate, remaining time and cost. */
import type { JobDetail, ShownJob } from "../../../contract/admin.ts";
import { projectOfOwner } from "../../auth/owner.ts";
import { batchDataOf } from "../../batches/batches.ts";
import { roundDollars } from "../../lib/nano-dollars.ts";
import type { StoredJob } from "../../storage/sql/stored-job.ts";

/** `keyName`: null if the API key was deleted. `now`: Unix milliseconds. */
export function showJob(job: StoredJob, keyName: string | null, now: number): ShownJob {
  const { model, outputFileId, errorFileId, metadata } = batchDataOf(job);
  const isImage = job.kind === "image";
  const status = statusOf(job);
  const rate = rateOf(job, now);
  const left = job.lines - job.completed - job.failed;
  return {
    object: "job",
    id: job.id,
    kind: job.kind,
    endpoint: job.endpoint,
    status,
    project: projectOfOwner(job.owner),
    key_id: job.keyId,
    key_name: keyName,
    model: model ?? null,
    name: metadata?.name ?? metadata?.description ?? null,
    created_at: timeOf(job.createdAt),
    started_at: job.startedAt === null ? null : timeOf(job.startedAt),
    ended_at: job.endedAt === null ? null : timeOf(job.endedAt),
    deadline: timeOf(job.deadline),
    expires_at: timeOf(job.expiresAt),
    lines: job.lines,
    completed: job.completed,
    failed: job.failed,
    cost: job.cost === null ? null : roundDollars(job.cost),
    lines_per_second: rate,
    remaining_ms:
      status === "in_progress" && rate !== null ? Math.round((left / rate) * 1000) : null,
    error: job.error?.message ?? null,
    waiting: waitingOf(job),
    line_errors: job.lineErrors.toSorted((a, b) => b.count - a.count).slice(0, shownErrors),
    has_output: isImage ? status === "completed" : outputFileId !== undefined,
    has_errors: errorFileId !== undefined,
  };
}

export function showJobDetail(job: StoredJob, keyName: string | null, now: number): JobDetail {
  const { errors = [], execution, vendorTarget, estimate } = batchDataOf(job);
  return {
    ...showJob(job, keyName, now),
    input_errors: [...errors],
    execution: execution ?? null,
    upstream: vendorTarget?.upstream ?? null,
    estimated_cost: estimate ?? null,
    list_cost: job.listCost === null ? null : roundDollars(job.listCost),
  };
}

const shownErrors = 3;

const waitingOf = ({ endedAt, waiting }: StoredJob): ShownJob["waiting"] =>
  endedAt === null && waiting?.error
    ? { ...waiting.error, next_attempt_at: timeOf(waiting.until) }
    : null;

const timeOf = (ms: number): string => new Date(ms).toISOString();

function statusOf(job: StoredJob): ShownJob["status"] {
  const { status, ending, endedAt, pausedAt, startedAt } = job;
  if (endedAt !== null) return status;
  if (ending === "cancelled") return "cancelling";
  if (pausedAt !== null) return "paused";
  return status === "in_progress" && startedAt === null ? "queued" : status;
}

/** Lines per second. Null if no line has ended. */
function rateOf(job: StoredJob, now: number): number | null {
  const { startedAt, finalizingAt, endedAt, completed, failed } = job;
  const done = completed + failed;
  if (startedAt === null || done === 0) return null;
  return (done * 1000) / Math.max(1, (finalizingAt ?? endedAt ?? now) - startedAt);
}
