/** Checks every line of the input file of a batch, as the API key of the batch, before anything runs. */
import type { ClientFiles } from "../files/client-files.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";
import { type BatchData, type BatchOperation, batchDataOf } from "./batches.ts";
import { type BatchLimits, type ValidateInputOptions, validateInput } from "./validate-input.ts";

/** A batch, also one that is not created. */
export type BatchInput = Pick<StoredJob, "endpoint" | "owner" | "keyId" | "data">;

export interface CheckInputOptions {
  readonly files: Pick<ClientFiles, "findContent">;
  readonly limits: BatchLimits;
  /** Returns a function that checks the body of a line, as the API key of the job. Both throw GatewayError. */
  readonly checkerOf: (
    job: Pick<BatchInput, "keyId">,
    operation: BatchOperation,
  ) => ValidateInputOptions["check"];
  readonly byteTurns: Pick<ByteTurns, "steps">;
}

/** Embedding lines run concurrently and take milliseconds; image lines of a range run one after the other. */
const rangeLines = { embeddings: 2000, generations: 4, edits: 4 } as const;

export type CheckInput = ReturnType<typeof createCheckInput>;

export const createCheckInput =
  ({ files, limits, checkerOf, byteTurns }: CheckInputOptions) =>
  async (job: BatchInput) => {
    const data = batchDataOf(job);
    const { operation } = data;
    const input = await inputOf(files, data);
    return validateInput({
      limits,
      endpoint: job.endpoint,
      rangeLines: rangeLines[operation],
      size: input.size,
      open: () => input.read(),
      check: checkerOf(job, operation),
      turns: byteTurns.steps(job.owner),
    });
  };

/** Throws GatewayError if the file was deleted, or if the storage is not available at the moment. */
export async function inputOf(
  files: Pick<ClientFiles, "findContent">,
  { inputFileId }: Pick<BatchData, "inputFileId">,
) {
  const found = await files.findContent({ id: inputFileId });
  if (found) return found;
  throw new GatewayError(
    "job_input_missing",
    `The input file ${inputFileId} was deleted, or has expired, before the batch had ended.`,
    { param: "input_file_id" },
  );
}
