/** The batches of clients: what is stored of a batch, its creation, and how it is shown, in OpenAI's form. */
import { batchExecutions } from "../../contract/admin/constants.ts";
import type { ClientFiles } from "../files/client-files.ts";
import {
  checkMetadata,
  type FindWebhook,
  type JobWebhook,
  webhookOf,
} from "../jobs/job-metadata.ts";
import { type Jobs, jobNotFound } from "../jobs/jobs.ts";
import { showWaiting } from "../jobs/show-image-job.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { newId } from "../lib/new-id.ts";
import { quotedList } from "../lib/quoted-list.ts";
import type { JobPage, StoredJob } from "../storage/sql/stored-job.ts";

/** OpenAI's error of a line of the input file. */
export interface BatchError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly line: number | null;
}

export interface BatchUsage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

export interface BatchData extends JobWebhook {
  readonly inputFileId: string;
  readonly operation: BatchOperation;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** When the output files expire, in seconds after their creation. Null: the setting of the gateway applies. */
  readonly outputSeconds: number | null;
  /** The base URL of image links. */
  readonly publicUrl: string;
  /** Where the lines run. If absent, as the model is configured, which is not known before the input is checked. */
  readonly execution?: BatchExecution;
  /** The upstream whose batches run the lines, and its own name for the model. If absent, the lines run now. */
  readonly vendorTarget?: { readonly upstream: string; readonly model: string };
  /** Of valid lines. If absent, the input is not checked yet, or no line is valid. */
  readonly estimate?: EstimatedCost;
  /** The model of all valid lines. If absent, it is not known yet, or there are several, or none. */
  readonly model?: string;
  /** Why the input file is invalid. */
  readonly errors?: readonly BatchError[];
  readonly outputFileId?: string;
  readonly errorFileId?: string;
  readonly usage?: BatchUsage;
  readonly [name: string]: unknown;
}

/** `now`: as requests of this gateway. `vendor`: in batches of the vendor. `cheapest`: there if that costs less. */
export type BatchExecution = (typeof batchExecutions)[number];

/** In US dollars, without cached inputs being considered. Null if a price is not known, or there are no batches. */
export interface EstimatedCost {
  readonly now: number | null;
  readonly vendor: number | null;
}

export const batchEndpoints = {
  "/v1/embeddings": "embeddings",
  "/v1/images/generations": "generations",
  "/v1/images/edits": "edits",
} as const;

export type BatchEndpoint = keyof typeof batchEndpoints;
export type BatchOperation = (typeof batchEndpoints)[BatchEndpoint];

export const operationOf = ({ endpoint }: Pick<StoredJob, "endpoint">): BatchOperation =>
  batchEndpoints[endpoint as BatchEndpoint];

export const batchDataOf = ({ data }: Pick<StoredJob, "data">): BatchData => data as BatchData;

interface BatchesOptions {
  readonly jobs: Jobs;
  readonly files: Pick<ClientFiles, "find">;
  readonly findWebhook: FindWebhook;
  /** The largest input file. */
  readonly maxBytes: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface NewBatch {
  readonly owner: string;
  readonly keyId: string;
  readonly inputFileId: string;
  readonly endpoint: BatchEndpoint;
  readonly metadata: unknown;
  readonly outputSeconds: number | null;
  readonly publicUrl: string;
}

export type Batches = ReturnType<typeof createBatches>;

/** OpenAI's only completion window. */
const windowMs = 24 * 3_600_000;

export function createBatches({ jobs, files, findWebhook, maxBytes, now }: BatchesOptions) {
  const find = async (owner: string, id: string): Promise<StoredJob> => {
    // An image job is not a batch.
    if (!id.startsWith("batch_")) throw jobNotFound(id, object);
    return jobs.find(owner, id, object);
  };
  return {
    find,
    create: async (batch: NewBatch): Promise<StoredJob> => {
      const { owner, keyId, inputFileId, endpoint, outputSeconds, publicUrl } = batch;
      const input = await files.find(owner, inputFileId).catch((error: unknown) => {
        throw withParam(error, "input_file_id");
      });
      if (input.purpose !== "batch") {
        throw invalidFile(`its purpose is '${input.purpose}', and must be 'batch'`);
      }
      if (input.bytes > maxBytes) {
        throw invalidFile(`it has ${input.bytes} bytes, and may have ${maxBytes}`);
      }
      const metadata = batch.metadata === undefined ? null : checkMetadata(batch.metadata);
      const data: BatchData = {
        ...(await webhookOf(owner, metadata, findWebhook)),
        inputFileId,
        operation: batchEndpoints[endpoint],
        metadata,
        outputSeconds,
        publicUrl,
        ...executionOf(metadata),
      };
      const { job } = await jobs.submit({
        id: newId("batch_", now()),
        kind: "batch",
        endpoint,
        owner,
        keyId,
        status: "validating",
        // The input counts toward the quota of files.
        bytes: 0,
        data,
        windowMs,
      });
      return job;
    },
    /** Newest first. Undefined if the batch `after` does not exist. */
    list: (owner: string, page: JobPage) => jobs.list(owner, "batch", page),
    /** Throws GatewayError if the batch has ended. */
    cancel: async (owner: string, id: string): Promise<StoredJob> => {
      const { status, endedAt } = await find(owner, id);
      if (endedAt !== null) {
        throw new GatewayError("invalid_state", `The batch is ${status}, and cannot be canceled.`);
      }
      return jobs.cancel(owner, id);
    },
  };
}

const seconds = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000));

/** OpenAI sends absent values as null. `showsCost`: the API key that reads it may see costs. */
export function showBatch(job: StoredJob, showsCost: boolean) {
  const data = batchDataOf(job);
  const status = statusOf(job);
  const endedAt = (end: StoredJob["status"]) => (status === end ? seconds(job.endedAt) : null);
  return {
    id: job.id,
    object: "batch",
    endpoint: job.endpoint,
    model: data.model ?? null,
    errors: errorsOf(job, data),
    input_file_id: data.inputFileId,
    completion_window: "24h",
    status,
    output_file_id: data.outputFileId ?? null,
    error_file_id: data.errorFileId ?? null,
    created_at: seconds(job.createdAt),
    in_progress_at: seconds(job.startedAt),
    expires_at: seconds(job.deadline),
    finalizing_at: seconds(job.finalizingAt),
    completed_at: endedAt("completed"),
    failed_at: endedAt("failed"),
    expired_at: endedAt("expired"),
    cancelling_at: seconds(job.cancellingAt),
    cancelled_at: endedAt("cancelled"),
    request_counts: { total: job.lines, completed: job.completed, failed: job.failed },
    usage: usageOf(data),
    metadata: data.metadata,
    vexel: vexelOf(job, data, showsCost),
  };
}

/** Where the lines run, what they cost (estimated before, and as charged, in US dollars), and what they wait for. */
const vexelOf = (job: StoredJob, { execution, estimate }: BatchData, showsCost: boolean) => ({
  batch: execution ?? null,
  estimated_cost: (showsCost && estimate) || null,
  cost: showsCost && job.cost !== null ? { actual: job.cost, now: job.listCost } : null,
  waiting: showWaiting(job),
});

/** The client's choice. If absent, the model is configured with one. Throws GatewayError. */
function executionOf(metadata: BatchData["metadata"]): Pick<BatchData, "execution"> {
  const given = metadata?.["vexel.batch"];
  if (given === undefined) return {};
  const execution = batchExecutions.find((each) => each === given);
  if (execution) return { execution };
  throw new GatewayError(
    "invalid_value",
    `Invalid 'metadata.vexel.batch': expected ${quotedList(batchExecutions)}.`,
    { param: "metadata.vexel.batch" },
  );
}

/** A batch that was canceled is `cancelling` until its lines in flight have ended. */
const statusOf = ({ status, ending, endedAt }: StoredJob) =>
  endedAt === null && ending === "cancelled" ? "cancelling" : status;

function errorsOf({ error, endedAt }: StoredJob, { errors }: BatchData) {
  if (errors) return { object: "list", data: errors };
  if (!error || endedAt === null) return null;
  const { code, message, param } = error;
  return {
    object: "list",
    data: [{ code: code ?? "invalid_request", message, param, line: null }],
  };
}

const usageOf = ({ usage }: BatchData) =>
  usage
    ? {
        input_tokens: usage.inputTokens,
        input_tokens_details: { cached_tokens: usage.cachedTokens },
        output_tokens: usage.outputTokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.totalTokens,
      }
    : null;

/** As OpenAI names it in the error of an unknown id. */
const object = "Batch object";

const invalidFile = (problem: string): GatewayError =>
  new GatewayError("invalid_value", `Invalid 'input_file_id': ${problem}.`, {
    param: "input_file_id",
  });

const withParam = (error: unknown, param: string): unknown =>
  error instanceof GatewayError
    ? new GatewayError(error.kind, error.message, { ...error.details, param })
    : error;
