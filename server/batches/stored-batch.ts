/** What a batch stores in the row of its job. */
import type { JobWebhook } from "../jobs/job-events.ts";
import type { StoredJob } from "../storage/ports/job-store.ts";

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
  /** Where the lines run: `now`, as requests of this gateway. */
  readonly execution: "now";
  /** The model of all lines. Absent: it is not known yet, or there are several. */
  readonly model?: string;
  /** Why the input file is invalid. */
  readonly errors?: readonly BatchError[];
  readonly outputFileId?: string;
  readonly errorFileId?: string;
  readonly usage?: BatchUsage;
  readonly [name: string]: unknown;
}

export const batchEndpoints = {
  "/v1/embeddings": "embeddings",
  "/v1/images/generations": "generations",
  "/v1/images/edits": "edits",
} as const;

export type BatchEndpoint = keyof typeof batchEndpoints;
export type BatchOperation = (typeof batchEndpoints)[BatchEndpoint];

export const batchDataOf = ({ data }: Pick<StoredJob, "data">): BatchData => data as BatchData;
