/** Image jobs as clients see them: the object `image.job`, with the unchanged images response as its `result`. */
import { json } from "../http/route.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { readWithin } from "../lib/timers.ts";
import type { OutgoingResponse, StreamedResponseBody } from "../request/http-types.ts";
import { openBody } from "../request/open-body.ts";
import type { FoundFile } from "../storage/ports/file-store.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";
import { type ImageResult, imageDataOf, stallMs } from "./image-kind.ts";
import { withoutCost } from "./job-kind.ts";
import type { Jobs } from "./jobs.ts";

type ShownStatus = "queued" | "in_progress" | "completed" | "failed" | "cancelled";

function statusOf({ status, startedAt }: StoredJob): ShownStatus {
  if (status === "completed" || status === "failed" || status === "cancelled") return status;
  if (status === "expired") return "failed";
  return startedAt === null ? "queued" : "in_progress";
}

const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The last error of a job that waits, and the next attempt. Null if it does not wait. */
export const showWaiting = ({ endedAt, waiting }: StoredJob) =>
  endedAt === null && waiting?.error
    ? { ...waiting.error, next_attempt_at: seconds(waiting.until) }
    : null;

/** Without its result, which is read from the file store. */
export const showImageJob = (job: StoredJob) => ({
  id: job.id,
  object: "image.job",
  status: statusOf(job),
  progress: job.endedAt === null ? 0 : 100,
  created_at: seconds(job.createdAt),
  expires_at: seconds(job.expiresAt),
  completed_at: job.endedAt === null ? null : seconds(job.endedAt),
  model: imageDataOf(job).model,
  endpoint: job.endpoint,
  error: job.error,
  waiting: showWaiting(job),
  metadata: imageDataOf(job).metadata,
  result: null,
});

/** The dialect of other gateways for the same job. */
export const showImageTask = (job: StoredJob) => {
  const { status, ...shown } = showImageJob(job);
  const isPending = status === "queued" || status === "in_progress";
  const ended = status === "completed" ? "completed" : "failed";
  return {
    ...shown,
    task_id: job.id,
    status: isPending ? "processing" : ended,
    poll_url: `/v1/images/tasks/${job.id}`,
    http_status: isPending ? null : (job.error?.status_code ?? 200),
    result: null,
  };
};

/**
 * `shown`: the job, whose last member is `result`. The result is sent as it is stored, without parsing it. Before it
 * are the headers of its response, if there are any: nothing is adapted or dropped in silence.
 */
export async function sendJob(
  jobs: Jobs,
  job: StoredJob,
  shown: { readonly result: null },
): Promise<OutgoingResponse> {
  const headers = { "cache-control": "no-store" };
  const result = job.status === "completed" ? await findResult(jobs, job) : undefined;
  if (!result) {
    const { headers: type, ...response } = json(shown);
    return { ...response, headers: { ...type, ...headers } };
  }
  const { result: _, ...others } = shown;
  const shownHeaders = withoutCost(result.headers);
  const isPlain = Object.keys(shownHeaders).length === 0;
  const head = isPlain ? others : { ...others, headers: shownHeaders };
  const start = `${JSON.stringify(head).slice(0, -1)},"result":`;
  return {
    status: 200,
    headers: { ...headers, "content-type": "application/json" },
    body: await openBody(bodyWith(start, result.body, "}")),
  };
}

/** Of RFC 7240: the gateway runs the request as a job, also if the client waited for its end. */
export const preferenceApplied = { "preference-applied": "respond-async" } as const;

/** The result alone, as the response to a request without a job. */
export async function sendResult(
  jobs: Jobs,
  job: StoredJob,
  { showCost }: { readonly showCost: boolean },
): Promise<OutgoingResponse> {
  const headers = { "cache-control": "no-store", ...preferenceApplied };
  const { error } = job;
  if (job.status !== "completed") {
    const { status_code, ...shown } = error ?? { status_code: 500, message: "The job failed." };
    const { headers: type, ...response } = json({ error: shown }, status_code);
    return { ...response, headers: { ...type, ...headers, "x-should-retry": "false" } };
  }
  const result = await findResult(jobs, job);
  return {
    status: 200,
    headers: {
      ...(showCost ? result.headers : withoutCost(result.headers)),
      ...headers,
      "content-type": "application/json",
    },
    body: await openBody(bodyWith("", result.body, "")),
  };
}

function bodyWith(start: string, result: FoundFile, end: string): StreamedResponseBody {
  return {
    length: Buffer.byteLength(start) + result.size + Buffer.byteLength(end),
    open: async function* () {
      if (start !== "") yield Buffer.from(start);
      yield* readWithin(result.read(), stallMs);
      if (end !== "") yield Buffer.from(end);
    },
    close: async () => undefined,
  };
}

async function findResult(jobs: Jobs, { id }: StoredJob): Promise<ImageResult> {
  const found = await jobs.result(id);
  if (found) return found;
  throw new GatewayError(
    "storage_unavailable",
    `The result of the job ${id} is missing in the storage of the gateway.`,
  );
}
