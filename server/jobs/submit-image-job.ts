/**
 * Accepts an image job: reserves its budget, stores its request, and responds 202 with the job, or with the images if
 * they are done within the time that the client waits.
 */
import { endUsersAndTagsText } from "../../contract/limits-and-budgets.ts";
import { ownerOf } from "../auth/owner.ts";
import { json } from "../http/route.ts";
import { fingerprintOf, readIdempotencyKey } from "../idempotency/idempotent-request.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { toNanos } from "../lib/nano-dollars.ts";
import { newId } from "../lib/new-id.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import type { Timers } from "../lib/timers.ts";
import type { JobSubmission } from "../pipeline/dependencies.ts";
import type { Caller } from "../request/caller.ts";
import type { OutgoingResponse } from "../request/http-types.ts";
import type { Reservation } from "../request/reservation.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { RangeReservation, StoredJob } from "../storage/sql/stored-job.ts";
import type { GenerationQuery } from "../upstream/contract.ts";
import { type ImageJobData, imageDataOf, inputSize, writeInput } from "./image-kind.ts";
import type { JobBudget } from "./job-budget.ts";
import { noReservation, withLine } from "./job-budget.ts";
import { type FindWebhook, splitMetadata, webhookOf } from "./job-metadata.ts";
import type { Jobs } from "./jobs.ts";
import { linePaths } from "./line-request.ts";
import { jobFolder } from "./segments.ts";
import { preferenceApplied, sendResult, showImageJob } from "./show-image-job.ts";
import { retryStorage } from "./waits.ts";

interface SubmitImageJobOptions {
  readonly jobs: Jobs;
  readonly store: Pick<JobStore, "start" | "discard" | "findById">;
  readonly files: FileStore;
  readonly budget: JobBudget;
  readonly findWebhook: FindWebhook;
  readonly holder: string;
  /** The longest time until a job has ended. */
  readonly windowMs: number;
  readonly wake: () => void;
  readonly stopping: AbortSignal;
  readonly timers: Timers;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** How long a client should wait before its first poll, in seconds. */
const retryAfterSeconds = 3;
/** The longest time that a client may ask the gateway to wait, in seconds. */
const maxWaitSeconds = 600;
/** The longest time for storing the request. Then any process deletes the job: its client got no response. */
const storeMs = 120_000;

export const createSubmitImageJob =
  (options: SubmitImageJobOptions) =>
  async (submission: JobSubmission): Promise<OutgoingResponse> => {
    const { incoming } = submission;
    const waitMs = waitOf(incoming.headers.get("prefer")) * 1000;
    const job = await submit(submission, waitMs > 0, options);
    const { jobs } = options;
    const current = waitMs > 0 ? await jobs.waitForEnd(job, waitMs, incoming.signal) : job;
    if (waitMs > 0 && current.endedAt !== null) {
      const showCost = submission.caller.showCost ?? submission.model.showCost ?? false;
      return sendResult(jobs, current, { showCost });
    }
    return accepted(current);
  };

/** `wait` of RFC 7240, in seconds. 0: the client does not wait. */
function waitOf(prefer: string | null): number {
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(prefer ?? "") ?? [];
  return Math.min(Number(seconds ?? 0), maxWaitSeconds);
}

function accepted(job: StoredJob): OutgoingResponse {
  const { headers, ...response } = json(showImageJob(job), 202);
  return {
    ...response,
    headers: {
      ...headers,
      location: `/v1/images/jobs/${job.id}`,
      "retry-after": String(retryAfterSeconds),
      ...preferenceApplied,
      "cache-control": "no-store",
    },
  };
}

async function submit(
  { endpoint, incoming, caller, model, query: given }: JobSubmission,
  mayRespond: boolean,
  options: SubmitImageJobOptions,
): Promise<StoredJob> {
  const { jobs, budget, findWebhook, holder, windowMs, now } = options;
  if (given.stream) throw streamError();
  if (caller.hash === "") throw keyRequired();
  const operation = endpoint.operation === "edits" ? "edits" : "generations";
  const { query: asked, metadata } = splitMetadata(given);
  const query = mayRespond ? withoutAsync(asked) : withLinks(asked);
  const owner = ownerOf(caller);
  const idempotencyKey = readIdempotencyKey(incoming.headers.get("idempotency-key"));
  const fingerprint = await fingerprintOf(operation, asked);
  if (idempotencyKey !== undefined) {
    const earlier = await jobs.findSubmitted(owner, idempotencyKey, incoming.signal);
    if (earlier) return checkSame(earlier, fingerprint);
  }
  const webhook = await webhookOf(owner, metadata, findWebhook);
  const tags = incoming.headers.get("vexel-tags");
  const id = newId("imgjob_", now());
  const reservation = await budget.reserve(`${id}-0`, { caller, model, operation }, { query });
  try {
    const data: ImageJobData = {
      ...webhook,
      operation,
      model: model.id,
      publicUrl: incoming.publicUrl,
      fingerprint,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      metadata,
      ...(tags !== null && { tags }),
    };
    const submitted = {
      id,
      kind: "image",
      endpoint: linePaths[operation],
      owner,
      keyId: caller.id,
      status: "validating",
      bytes: inputSize(query),
      data,
      idempotencyKey,
      windowMs,
      claim: { holder, until: now() + storeMs },
    } as const;
    const job = await store(submitted, query, reservedFor(caller, reservation), options);
    if (job) return job;
    const earlier = await jobs.findSubmitted(owner, idempotencyKey ?? "", incoming.signal);
    if (earlier) return checkSame(earlier, fingerprint);
    throw notStored();
  } finally {
    reservation?.release();
  }
}

/**
 * Stores the request. From then on, its cost stays reserved. A job whose request cannot be stored does not exist.
 * Undefined if another job has the idempotency key.
 */
async function store(
  submitted: Parameters<Jobs["submit"]>[0],
  query: GenerationQuery,
  reserved: RangeReservation | undefined,
  options: SubmitImageJobOptions,
): Promise<StoredJob | undefined> {
  const { jobs, files, budget, holder, wake } = options;
  const { id } = submitted;
  let job: StoredJob;
  try {
    const created = await jobs.submit(submitted);
    if (!created.isNew) return undefined;
    job = created.job;
    await writeInput(files, id, query);
    const range = { firstLine: 0, lines: 1, position: 0, reserved };
    const hasStarted = await options.store.start(id, holder, [range], undefined, options.now());
    if (!hasStarted) throw notStored();
  } catch (error) {
    // The database may be gone for a while. If this process ends too, the next one deletes the job.
    ignoreRejection(retryStorage(options, () => discard(id, options)));
    throw error;
  }
  // The job is accepted. If the database fails now, a later refresh reserves its cost.
  if (reserved) await budget.refresh().catch(() => undefined);
  wake();
  return { ...job, status: "in_progress" };
}

/** In the budgets of the key, the project, the end user and the tags. Undefined if nothing is reserved. */
function reservedFor(
  { budgets }: Caller,
  reservation: Reservation | undefined,
): RangeReservation | undefined {
  if (reservation?.dollars === undefined) return undefined;
  const line = { nanos: toNanos(reservation.dollars), labels: endUsersAndTagsText(budgets) };
  return withLine({ ...noReservation, ...(reservation.isLikely && { isLikely: true }) }, line);
}

/** Deletes the job, unless the database has committed its start and only the confirmation was lost. */
async function discard(id: string, { store, files, holder }: SubmitImageJobOptions): Promise<void> {
  if ((await store.discard(id, holder)) || !(await store.findById(id)))
    await files.removeFolder(jobFolder(id));
}

const notStored = (): GatewayError =>
  new GatewayError("storage_unavailable", "The job could not be stored. Retry in a few seconds.", {
    notSent: true,
    retryAfterMs: 2000,
  });

const withoutAsync = ({ isAsync: _, ...query }: GenerationQuery): GenerationQuery => query;

/**
 * Links are short, and a job may be read often. A client that wants base64 asks for it. If the client waits, its
 * response is that of a request without a job.
 */
function withLinks(given: GenerationQuery): GenerationQuery {
  const query = withoutAsync(given);
  const { options } = query;
  return { ...query, options: { ...options, response_format: options.response_format ?? "url" } };
}

function checkSame(job: StoredJob, fingerprint: string): StoredJob {
  if (job.kind === "image" && imageDataOf(job).fingerprint === fingerprint) return job;
  throw new GatewayError(
    "idempotency_mismatch",
    "The Idempotency-Key was used before for a job with a different request. Use a new key for each new request.",
    { param: "Idempotency-Key" },
  );
}

/** A job runs with the API key as it is then, and a user of the console has none. */
const keyRequired = (): GatewayError =>
  new GatewayError(
    "invalid_value",
    "Invalid value of 'async': a job needs an API key. Submit it under /v1 with an API key.",
    { param: "async" },
  );

const streamError = (): GatewayError =>
  new GatewayError(
    "invalid_value",
    "Invalid value of 'stream': a job has no stream. Omit 'stream', or omit 'async' and the header 'Prefer: respond-async'.",
    { param: "stream" },
  );
