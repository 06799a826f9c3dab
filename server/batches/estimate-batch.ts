/** What a batch would run and cost, before it is created. Nothing is sent. */
import type { StoredJob } from "../storage/sql/stored-job.ts";
import {
  type BatchData,
  type BatchEndpoint,
  type BatchError,
  type BatchExecution,
  batchEndpoints,
  type EstimatedCost,
} from "./batches.ts";
import type { CheckInput } from "./check-input.ts";
import type { ValidInput } from "./validate-input.ts";
import type { chooseExecution } from "./vendor/choose-execution.ts";

export type ChooseExecution = (
  job: Pick<StoredJob, "data">,
  found: Pick<ValidInput, "model" | "tokens" | "imageDollars">,
) => ReturnType<typeof chooseExecution>;

interface EstimateBatchOptions {
  readonly checkInput: CheckInput;
  readonly chooseExecution: ChooseExecution;
}

interface GivenBatch {
  readonly owner: string;
  readonly keyId: string;
  readonly endpoint: BatchEndpoint;
  readonly inputFileId: string;
}

export interface BatchEstimate {
  /** Of the file. 0 if the file is invalid. */
  readonly lines: number;
  /** Lines that the endpoint accepts. The others would fail. */
  readonly validLines: number;
  /** Why the file is invalid. */
  readonly errors: readonly BatchError[];
  /** Null if the lines have several models. */
  readonly model: string | null;
  readonly estimate: EstimatedCost | null;
  /** Where the lines run if the client does not choose. */
  readonly execution: BatchExecution;
  /** Why the lines cannot run in a batch of the vendor. Null if they can. */
  readonly vendorProblem: string | null;
}

const invalid = { lines: 0, validLines: 0, model: null, estimate: null, execution: "now" } as const;

export const createEstimateBatch =
  ({ checkInput, chooseExecution }: EstimateBatchOptions) =>
  async ({ inputFileId, ...given }: GivenBatch): Promise<BatchEstimate> => {
    const data: BatchData = {
      inputFileId,
      operation: batchEndpoints[given.endpoint],
      metadata: null,
      outputSeconds: null,
      publicUrl: "",
    };
    const result = await checkInput({ ...given, data });
    if ("errors" in result) return { ...invalid, errors: result.errors, vendorProblem: null };
    const choose = (execution?: BatchExecution) =>
      chooseExecution({ data: { ...data, ...(execution && { execution }) } }, result);
    const [now, vendor, own] = [choose("now"), choose("vendor"), choose()];
    return {
      lines: result.ranges.reduce((sum, { lines }) => sum + lines, 0),
      validLines: result.validLines,
      errors: [],
      model: result.model ?? null,
      estimate: "estimate" in now ? now.estimate : null,
      execution: "execution" in own ? own.execution : "vendor",
      vendorProblem: "refusal" in vendor ? vendor.refusal : null,
    };
  };
