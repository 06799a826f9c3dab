/** What each kind of job supplies: its lines, the form of their results, and its end. The runner does the rest. */
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { VendorLine } from "../request/job-line.ts";
import type { Operation } from "../request/operation.ts";
import type {
  ClaimedRange,
  JobData,
  JobError,
  JobKindName,
  JobStatus,
  LastError,
  LineReservation,
  NewRange,
  RangeState,
  StoredJob,
  Wait,
} from "../storage/sql/stored-job.ts";
import type { EditQuery, GenerationQuery } from "../upstream/contract.ts";

type LineOperation = Exclude<Operation, "moderations">;

/** One request of a job: its JSON body, or an image query that was validated when the job was submitted. */
export interface JobLine {
  readonly operation: LineOperation;
  readonly body?: unknown;
  /** The error of its request, because its body was not parsed. If absent, it was. */
  readonly refusal?: GatewayError;
  readonly query?: GenerationQuery | EditQuery;
  /** The base URL of image links in the response. */
  readonly publicUrl: string;
  /** The header `vexel-tags` of the job. If absent, it had none. */
  readonly tags?: string;
  /**
   * The Idempotency-Key of the job, and the fingerprint of its submission: requests with and without a job share the
   * keys. If absent, it had none.
   */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string };
  /** What the client calls the line. If absent, it has one line. */
  readonly customId?: string;
  /**
   * The number of inputs of each of several lines that are sent as this one request. The body of its response then has
   * one chunk for each of them. If absent, it is one line.
   */
  readonly inputsOfLines?: readonly number[];
  /** The batch of a vendor has run the line. If absent, it is sent now. */
  readonly vendor?: VendorLine;
  /** Why the line is not sent. If absent, it is. */
  readonly failure?: GatewayError;
  /** The part of the range's reservation that belongs to the line. If absent, nothing is reserved for it. */
  readonly reserved?: LineReservation;
  /** The vendor may bill the line, although it has no result. If absent, it does not. */
  readonly charged?: ChargedLine;
  /** The line may cost more than is reserved for it: a vendor's batch did not run it, and it is sent at the full price. */
  readonly isPartlyReserved?: boolean;
}

/** A line whose estimate is charged, in the place of what was reserved for it. */
export interface ChargedLine {
  /** US dollars. Undefined if unknown. */
  readonly dollars: number | undefined;
  /** The part of the usual price that this is. */
  readonly priceFactor: number;
  readonly reserved: LineReservation | undefined;
}

/** Consecutive lines, and the one request with all of their inputs. If absent, the line is sent by itself. */
export interface MergedLines {
  readonly lines: readonly JobLine[];
  readonly merged?: JobLine;
}

/** The result of a line: a response, or the reason why there is none. */
export type LineResult =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly requestId: string;
      /** The headers of the response that say how it was made: `vexel-adapted`, `vexel-dropped` and others. */
      readonly headers: Readonly<Record<string, string>>;
      /** What the request pipeline says about a response that is an error. */
      readonly error?: LastError | undefined;
      /** The JSON body. May be read again until `close`, if it could not be stored. */
      readonly body: AsyncIterable<BorrowedBytes> | Uint8Array;
      /** The result is stored, or given up. */
      close(): Promise<void>;
    }
  /** The line never ran, or its response is lost. */
  | { readonly kind: "none"; readonly error: GatewayError };

/** How a process is done with a range that it has claimed. */
export type RangeEnd =
  /** All of its lines have a result. */
  | { readonly kind: "done" }
  /** Its line goes on later: the gateway stops, the job is paused, or another process has the range. */
  | { readonly kind: "stopped" }
  /** It is claimed again later. `cause`: what is wrong with the database, for the log. */
  | { readonly kind: "waits"; readonly wait: Wait; readonly cause?: unknown }
  /** The job cannot continue. */
  | { readonly kind: "failed"; readonly error: GatewayError };

/** A range that this process has claimed. */
export interface HeldRange {
  /** With the changes that were recorded. */
  readonly range: ClaimedRange;
  /**
   * Changes its row. False: another process has the range. Throws GatewayError if the database is not available.
   * `reserved`: replaces what is reserved. Nothing is reserved for lines that no vendor is to run.
   */
  record(change: Partial<RangeState>): Promise<boolean>;
}

/** Where a result goes: lines with a status from 200 to 299 are output. */
export type SegmentKind = "output" | "error";

export interface FinishedJob {
  readonly status: Extract<JobStatus, "completed" | "failed" | "expired" | "cancelled">;
  readonly error?: JobError | null;
  readonly data?: JobData;
  /** The results cannot be read: no line counts as completed. */
  readonly hasNoResults?: boolean;
  /** The size of what the job still stores, which counts against the quota. If absent, as before. */
  readonly bytes?: number;
}

/** The results of a job, in the order of its lines. */
export interface JobResults {
  /** Their size in bytes, by kind. */
  size(kind: SegmentKind): Promise<number>;
  read(kind: SegmentKind): AsyncIterable<Uint8Array>;
}

/** `failure`: the input is invalid, and nothing runs. `data`: what the job stores from now on. */
type PreparedJob =
  | { readonly ranges: readonly NewRange[]; readonly data?: JobData }
  | { readonly failure: JobError; readonly data: JobData };

export interface JobKind {
  readonly name: JobKindName;
  /** The most ranges that one process runs at the same time, of jobs of these endpoints together. */
  readonly ranges: readonly { readonly endpoints: readonly string[]; readonly max: number }[];
  /** Image jobs are interactive requests; lines of a batch wait behind them. */
  readonly priority: "interactive" | "batch";
  /**
   * Reads and checks the input of a new job. If absent, a job has its ranges when it is accepted. One without them was
   * not accepted, and is deleted.
   */
  prepare?(job: StoredJob): Promise<PreparedJob>;
  /**
   * Takes the next steps of a range, until its lines that have not ended can run. Both throw GatewayError if the input
   * is gone, and the job fails.
   */
  open(held: HeldRange): Promise<{ readonly lines: AsyncIterable<JobLine> } | RangeEnd>;
  /** Merges embedding lines into requests with the inputs of several lines. If absent, each line is a request. */
  merge?(lines: readonly JobLine[]): readonly MergedLines[];
  /** One line of the results. The body of the result is read to its end. */
  format(line: JobLine, result: LineResult): AsyncIterable<BorrowedBytes> | Uint8Array;
  /** How long lines that are sent may go on when the job is canceled, or ends early for another reason. */
  readonly inFlightMs: number;
  /** The error of a line without a result because the job ended before. `wasSent`: it was not done in `inFlightMs`. */
  notRun(job: StoredJob, wasSent: boolean): GatewayError;
  /**
   * The job cannot continue. What a vendor may bill for the lines of the range that have not ended is charged. Returns
   * it in US dollars, undefined if it is unknown. Throws: it is tried again, for a day, before the job ends. If absent,
   * nothing is.
   */
  chargeRest?(range: ClaimedRange): Promise<number | undefined>;
  /**
   * A range with a batch of a vendor has ended, or its job has: what is left at the vendor is deleted. False: it is
   * tried again. If absent, nothing is left.
   */
  cleanUp?(range: ClaimedRange): Promise<boolean>;
  /** Joins the results. `job.ending`: why it ended early. Throws: it is tried again. */
  finish(job: StoredJob, results: JobResults): Promise<FinishedJob>;
}

/**
 * A job may be read with every API key of its project, and keys may not all see costs. The cost of merged lines is that
 * of all of them.
 */
export const withoutCost = ({
  "vexel-cost": _,
  ...headers
}: Readonly<Record<string, string>>): Readonly<Record<string, string>> => headers;

/** OpenAI's error object, as jobs store it. */
export const jobErrorOf = (error: GatewayError): JobError => {
  const { message, type, param, code } = error.body.error;
  return { message, type, param, code, status_code: error.definition.status };
};

/** The same as rows show it, with the kind of the error. */
export const lastErrorOf = ({ kind, message }: GatewayError): LastError => ({
  code: kind,
  message: message.slice(0, 500),
});

/** The chunks of a result. */
export const chunksOf = (
  body: AsyncIterable<BorrowedBytes> | Uint8Array,
): AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes> =>
  body instanceof Uint8Array ? [body] : body;
