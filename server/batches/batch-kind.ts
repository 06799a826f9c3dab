/**
 * Batches as a kind of job: their lines are those of the input file, and their results become an output file and an
 * error file.
 */
import type { ClientFiles } from "../files/client-files.ts";
import { type JobKind, jobErrorOf, type SegmentKind } from "../jobs/job-kind.ts";
import { linePaths } from "../jobs/line-request.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { ClaimedRange, JobError, StoredJob } from "../storage/sql/stored-job.ts";
import { type BatchData, batchDataOf } from "./batches.ts";
import { type CheckInputOptions, createCheckInput, inputOf } from "./check-input.ts";
import type { ChooseExecution } from "./estimate-batch.ts";
import { type MayMerge, mergeLines } from "./merge-lines.ts";
import { formatLine, UsageCounter } from "./output-lines.ts";
import { parseLine, readLines } from "./read-lines.ts";
import { type BatchLimits, lineLimitsOf } from "./validate-input.ts";
import { joinRanges } from "./vendor/choose-execution.ts";
import type { BatchLine } from "./vendor/vendor-batch.ts";
import type { VendorLines } from "./vendor/vendor-lines.ts";

interface BatchKindOptions {
  readonly files: Pick<ClientFiles, "beginResult" | "findContent">;
  readonly limits: BatchLimits;
  readonly checkerOf: CheckInputOptions["checkerOf"];
  readonly chooseExecution: ChooseExecution;
  /** The lines that batches of a vendor run. */
  readonly vendorLines: VendorLines;
  /** When an output file expires, in Unix milliseconds. Null if never. */
  readonly expiryOf: (createdAt: number, seconds: number | null) => number | null;
  readonly mayMerge: MayMerge;
  /** The input and the results of a batch may have gigabytes. */
  readonly byteTurns: Pick<ByteTurns, "read" | "steps">;
}

/** The most ranges that one process runs at the same time: an image line takes a minute, and little memory. */
const maxImageRanges = 64;
/** Those of embeddings: their results are in memory until they are written. Other processes claim the other ranges. */
const maxEmbeddingRanges = 8;
/** OpenAI: a batch is `cancelling` for up to ten minutes. */
const inFlightMs = 600_000;

export function createBatchKind(options: BatchKindOptions): JobKind {
  const { byteTurns } = options;
  const checkInput = createCheckInput(options);
  return {
    name: "batch",
    ranges: [
      { endpoints: [linePaths.embeddings], max: maxEmbeddingRanges },
      { endpoints: [linePaths.generations, linePaths.edits], max: maxImageRanges },
    ],
    priority: "batch",
    prepare: async (job) => {
      const data = batchDataOf(job);
      const result = await checkInput(job);
      if ("errors" in result) return invalidInput(data, result.errors);
      const { ranges, model } = result;
      // Every line fails: nothing is sent to a vendor.
      if (result.validLines === 0) return { ranges, data: { ...data, execution: "now" } };
      const chosen = options.chooseExecution(job, result);
      if ("refusal" in chosen) return noVendorBatch(data, chosen.refusal);
      const { execution, estimate } = chosen;
      const checked = { ...data, ...(model !== undefined && { model }), execution, estimate };
      if (chosen.execution === "now") return { ranges, data: checked };
      const { upstream, model: name } = chosen.target;
      const vendorTarget = { upstream: upstream.id, model: name };
      const planned = joinRanges(ranges, chosen.limits).map((range) => ({
        ...range,
        phase: "planned" as const,
      }));
      return { ranges: planned, data: { ...checked, vendorTarget } };
    },
    open: async (held) => {
      const plain = () => linesOf(held.range, options);
      const isForVendor = held.range.phase !== "lines";
      return isForVendor ? options.vendorLines.open(held, plain) : { lines: plain() };
    },
    merge: (lines) => mergeLines(lines, options.mayMerge),
    format: (line, result) => {
      const { id, customId } = line as BatchLine;
      return formatLine(id, customId, result);
    },
    chargeRest: options.vendorLines.chargeRest,
    cleanUp: options.vendorLines.cleanUp,
    inFlightMs,
    notRun: ({ ending }, wasSent) => (wasSent ? notDone() : notRun(ending)),
    finish: async (job, results) => {
      const counter = new UsageCounter();
      const store = async (kind: SegmentKind, chunks: AsyncIterable<Uint8Array>) =>
        storeResults(options, job, kind, await results.size(kind), chunks);
      const read = (kind: SegmentKind) => byteTurns.read(job.owner, results.read(kind));
      const outputFileId = await store("output", counter.count(read("output")));
      const errorFileId = await store("error", read("error"));
      const data = {
        ...batchDataOf(job),
        ...(outputFileId !== undefined && { outputFileId }),
        ...(errorFileId !== undefined && { errorFileId }),
        usage: counter.usage,
      };
      // The results are files now, and count as files.
      const end = { data, bytes: 0 };
      const failure = vendorFailure(job);
      if (failure) return { ...end, status: "failed", error: failure };
      return { ...end, status: job.ending ?? "completed", error: job.error };
    },
  };
}

async function* linesOf(range: ClaimedRange, options: BatchKindOptions): AsyncGenerator<BatchLine> {
  const { job, firstLine, lines, position, settled } = range;
  const data = batchDataOf(job);
  const { operation, publicUrl } = data;
  const input = await inputOf(options.files, data);
  let at = 0;
  const turns = options.byteTurns.steps(job.owner);
  const reading = { position, ...lineLimitsOf(options.limits), turns };
  for await (const line of readLines(input.read(position), reading)) {
    if (at >= settled) {
      const { customId, ...given } = parseLine(line, job.endpoint);
      const number = firstLine + at;
      const id = `batch_req_${job.id.slice(-32)}_${number}`;
      yield { operation, ...given, publicUrl, customId, id, number };
    }
    if (++at >= lines) return;
  }
}

/** Why no line succeeded, if a vendor's batch failed. Lines may have failed for other reasons before. */
function vendorFailure({ ending, completed, lineErrors }: StoredJob): JobError | undefined {
  const failure = lineErrors.find(({ code }) => code === "vendor_batch_failed");
  if (ending || completed > 0 || !failure) return undefined;
  return jobErrorOf(new GatewayError("vendor_batch_failed", failure.message));
}

const noVendorBatch = (data: BatchData, reason: string) =>
  invalidInput(data, [
    {
      code: "vendor_batch_unavailable",
      message: `The lines cannot run in a batch of the vendor: ${reason}. Omit 'vexel.batch' in the metadata, or use 'cheapest'.`,
      param: "metadata.vexel.batch",
      line: null,
    },
  ]);

function invalidInput(data: BatchData, errors: NonNullable<BatchData["errors"]>) {
  const [first] = errors;
  const failure: JobError = {
    message: first?.message ?? "",
    type: "invalid_request_error",
    param: first?.param ?? null,
    code: first?.code ?? null,
    status_code: 400,
  };
  return { failure, data: { ...data, errors } };
}

/**
 * Returns the id of the file, which is the same if the end of the batch is tried again. Undefined if there are no such
 * results, and no file.
 */
async function storeResults(
  { files, expiryOf }: BatchKindOptions,
  job: StoredJob,
  kind: SegmentKind,
  size: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<string | undefined> {
  if (size === 0) return undefined;
  const id = `file-${job.id.slice(-32)}-${kind}`;
  const file = await files.beginResult(id, job.owner, size);
  if (!file) {
    for await (const _ of chunks) {
      // It is stored already. Its usage is counted.
    }
    return id;
  }
  try {
    await file.write(chunks, "response");
    await file.complete({
      purpose: "batch_output",
      filename: `${job.id}_${kind}.jsonl`,
      expiresAt: expiryOf(file.createdAt, batchDataOf(job).outputSeconds),
    });
    return id;
  } catch (error) {
    await file.discard();
    throw error;
  }
}

/** The error of a line that was sent before the batch ended, and was not done in time. */
const notDone = (): GatewayError =>
  new GatewayError(
    "job_cancelled",
    "This request was running when the batch ended, and was not done ten minutes later.",
    { overrides: { code: "batch_cancelled" } },
  );

/** The error of a line that did not run because the batch ended before. */
export function notRun(ending: StoredJob["ending"]): GatewayError {
  if (ending === "cancelled") {
    return new GatewayError("job_cancelled", "The batch was canceled before this request ran.", {
      overrides: { code: "batch_cancelled" },
    });
  }
  if (ending === "expired") {
    return new GatewayError(
      "job_expired",
      "This request could not be executed before the completion window expired.",
      { overrides: { code: "batch_expired" } },
    );
  }
  return new GatewayError("job_cancelled", "The batch failed before this request ran.", {
    overrides: { code: "batch_failed" },
  });
}
