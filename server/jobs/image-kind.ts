/** Image jobs: jobs of one line, whose result is the images response or its error. */
import { type BorrowedBytes, copyAll } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { JobError, StoredJob } from "../storage/sql/stored-job.ts";
import { readInput, removeInput } from "./image-input.ts";
import { headersLine } from "./image-result.ts";
import type { JobWebhook } from "./job-events.ts";
import { chunksOf, type JobKind, type JobLine, jobErrorOf, type LineResult } from "./job-kind.ts";
import { linePaths } from "./line-request.ts";

/** What an image job stores in its row. */
export interface ImageJobData extends JobWebhook {
  readonly operation: "generations" | "edits";
  readonly model: string;
  readonly publicUrl: string;
  readonly fingerprint: string;
  readonly idempotencyKey?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The header `vexel-tags`. */
  readonly tags?: string;
  readonly [name: string]: unknown;
}

export const imageDataOf = ({ data }: Pick<StoredJob, "data">): ImageJobData =>
  data as ImageJobData;

export const createImageKind = (files: FileStore, maxRanges: number): JobKind => ({
  name: "image",
  ranges: [{ endpoints: [linePaths.generations, linePaths.edits], max: maxRanges }],
  priority: "interactive",
  lines: async function* ({ job, reserved }): AsyncGenerator<JobLine> {
    const { operation, publicUrl, tags, fingerprint, idempotencyKey: key } = imageDataOf(job);
    const query = await readInput(files, job.id);
    if (!query)
      throw new GatewayError("job_input_missing", "The stored request of the job is missing.");
    yield {
      operation,
      query,
      publicUrl,
      ...(tags !== undefined && { tags }),
      ...(key !== undefined && { idempotency: { key, fingerprint } }),
      // The only line of the range.
      ...(reserved && {
        reserved: {
          nanos: reserved.nanos,
          labels: Object.keys(reserved.labels).join("\t") || null,
        },
      }),
    };
  },
  format: (_, result) => formatResult(result),
  // Its client has asked for the end of this one image.
  inFlightMs: 0,
  notRun: ({ ending }) =>
    ending === "cancelled"
      ? new GatewayError("job_cancelled", "The job was canceled.")
      : new GatewayError("job_expired", "The job did not end before its deadline."),
  finish: async (job, results) => {
    await removeInput(files, job.id);
    const bytes = await results.size("output");
    if (bytes > 0) return { status: "completed", bytes };
    const error = job.error ?? readError(await copyAll(results.read("error")));
    return { status: job.ending === "cancelled" ? "cancelled" : "failed", error, bytes };
  },
});

/** The response itself or, of a failure, its error with its status. */
async function* formatResult(result: LineResult): AsyncGenerator<BorrowedBytes> {
  if (result.kind === "none") {
    yield Buffer.from(JSON.stringify(jobErrorOf(result.error)));
  } else if (result.status >= 200 && result.status <= 299) {
    yield headersLine(result.headers);
    yield* chunksOf(result.body);
  } else yield Buffer.from(JSON.stringify(await errorOf(result)));
}

async function errorOf({
  status,
  body,
}: Extract<LineResult, { kind: "response" }>): Promise<JobError> {
  const text = await copyAll(chunksOf(body));
  const { error } = JSON.parse(text.toString()) as { error: Omit<JobError, "status_code"> };
  return { ...error, status_code: status };
}

const readError = (json: Buffer): JobError => JSON.parse(json.toString()) as JobError;
