/** What a batch stores in the row of its job. */
import type { batchExecutions } from "../../contract/admin/constants.ts";
import type { JobWebhook } from "../jobs/job-events.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";

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
  /** When the output files expire, in seconds after their creation. Null: the default. */
  readonly outputSeconds: number | null;
  /** The base URL of image links. */
  readonly publicUrl: string;
  /** Where the lines run. Absent: as the model is configured, which is not known before the input is checked. */
  readonly execution?: BatchExecution;
  /** The upstream whose batches run the lines, and its own name for the model. Absent: the lines run now. */
  readonly vendorTarget?: { readonly upstream: string; readonly model: string };
  /** Of valid lines. Absent: the input is not checked yet, or no line is valid. */
  readonly estimate?: EstimatedCost;
  /** The model of all valid lines. Absent: it is not known yet, or there are several, or none. */
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

/** In US dollars, without cached inputs being considered. Null: a price is not known, or there are no batches. */
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

export const batchDataOf = ({ data }: Pick<StoredJob, "data">): BatchData => data as BatchData;
