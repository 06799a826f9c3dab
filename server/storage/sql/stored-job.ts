/**
 * Jobs, requests whose results are fetched later, and their rows in the tables `jobs` and `job_ranges`. A job has
 * lines, each of which is one request. Results are in the file store.
 */

export type JobKindName = "image" | "batch";

/**
 * `validating`: its input is not checked yet. `in_progress`: it has ranges that are not done. `finalizing`: all lines
 * have ended, and the results are joined. The others are ends.
 */
export type JobStatus =
  | "validating"
  | "in_progress"
  | "finalizing"
  | "completed"
  | "failed"
  | "expired"
  | "cancelled";

/**
 * Where a range of lines is. `server/jobs/next-step.ts` says what comes next.
 *
 * `lines`: its lines run as requests of this gateway, or end. The others are of a range whose lines are for a vendor's
 * batch. `planned`: nothing was sent. `uploaded`: the input file is at the vendor, which has certainly no batch of it.
 * `creating`: the batch is being created, or may have been. `created`: the vendor runs it. `canceling`: the vendor was
 * told to end it. `delivering`: it has ended, and its results become those of the lines. `refused`: the vendor refused
 * it, or the model has no upstream with batches any more.
 */
export type RangePhase =
  | "lines"
  | "planned"
  | "uploaded"
  | "creating"
  | "created"
  | "canceling"
  | "delivering"
  | "refused";

/** Why a job ends before all of its lines have run. */
export type JobEnding = "cancelled" | "expired" | "failed";

/** OpenAI's error object, with the status that the request would have had. */
export interface JobError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly status_code: number;
}

/** Why something waits: the kind of an error, and its message. */
export interface LastError {
  readonly code: string;
  readonly message: string;
}

/** The next attempt, in Unix milliseconds, and the error of the last one. Null if there was none. */
export interface Wait {
  readonly until: number;
  readonly error: LastError | null;
}

/** Lines that failed with the same kind of error, and the message of the first of them. */
export interface LineErrors extends LastError {
  readonly count: number;
}

export interface NewJob {
  readonly id: string;
  readonly kind: JobKindName;
  /** Such as `/v1/images/generations`. */
  readonly endpoint: string;
  /** Which API keys see the job: those of the project, or the one key, if it has no project. */
  readonly owner: string;
  readonly keyId: string;
  readonly status: "validating" | "in_progress";
  /** All times are Unix milliseconds. */
  readonly createdAt: number;
  /** Lines that have not run until then never run. */
  readonly deadline: number;
  /** When the job is deleted, unless it ends later. */
  readonly expiresAt: number;
  /** The size of its input, which counts against the quota. */
  readonly bytes: number;
  /** What its kind stores. */
  readonly data: JobData;
  /** A job of the same owner with the same key is not created again. If absent, it is. */
  readonly idempotencyKey?: string | undefined;
  /** The ranges of a job that is not validated. */
  readonly ranges?: readonly NewRange[];
  /** The process that is still writing the input of the job has claimed it. If absent, any process may claim it. */
  readonly claim?: Pick<Claim, "holder" | "until">;
}

export type JobData = Readonly<Record<string, unknown>>;

export interface NewRange {
  /** The default is `lines`. */
  readonly phase?: "planned" | "lines";
  readonly firstLine: number;
  readonly lines: number;
  /** Where the first line begins in the input, in bytes. */
  readonly position: number;
  /** What every process reserves for the lines. Absent or null: nothing is reserved. */
  readonly reserved?: RangeReservation | null | undefined;
}

/** What the lines of a range that have not ended may cost, in nano-dollars. */
export interface RangeReservation {
  /** A higher version replaces a lower one. It grows with each line that is charged. */
  readonly version: number;
  /** In the budgets of the API key and its project. */
  readonly nanos: number;
  /** In those of end users and tags, by their names as in ledger rows. */
  readonly labels: Readonly<Record<string, number>>;
  /** The likely cost, because the upper bound does not fit into one of the budgets. If absent, the upper bound. */
  readonly isLikely?: true;
  /** The lines run now, and each reserves its own upper bound. If absent, they are for a batch of a vendor. */
  readonly runsNow?: true;
}

/** The part of it that belongs to one line. */
export interface LineReservation {
  readonly nanos: number;
  /** The end user and the tags, as in ledger rows. Null if none has a budget. */
  readonly labels: string | null;
}

export interface StoredJob extends Omit<NewJob, "status" | "ranges" | "idempotencyKey" | "claim"> {
  readonly status: JobStatus;
  readonly ending: JobEnding | null;
  readonly startedAt: number | null;
  readonly pausedAt: number | null;
  readonly cancellingAt: number | null;
  readonly finalizingAt: number | null;
  readonly endedAt: number | null;
  /** How often it was claimed to be validated, this claim included. */
  readonly validations: number;
  readonly lines: number;
  /** Lines that have ended, by success. */
  readonly completed: number;
  readonly failed: number;
  /** The known cost of lines that have ended, in US dollars. Null if unknown. */
  readonly cost: number | null;
  /** What they would have cost without the discount of a vendor's batch. Null if unknown. */
  readonly listCost: number | null;
  /** The first of the attempts that are to come after an error: of the job, or of one of its ranges. */
  readonly waiting: Wait | null;
  /** Of its failed lines, at most 20 kinds. */
  readonly lineErrors: readonly LineErrors[];
  readonly error: JobError | null;
}

/** Upper bounds. A job that would exceed one is not created. */
export interface JobQuota {
  /** Jobs that have not ended. */
  readonly jobs: number;
  /** Input and results of all jobs that are stored. */
  readonly bytes: number;
}

export type CreatedJob =
  | { readonly kind: "created" | "existing"; readonly job: StoredJob }
  | { readonly kind: "over_quota"; readonly quota: "jobs" | "bytes"; readonly isOwn: boolean };

/** What the holder of a range changes while its lines are for a vendor's batch. */
export interface RangeState {
  readonly phase: RangePhase;
  /** When the phase began, in Unix milliseconds. The lines of a batch that has ended are charged to that time. */
  readonly phaseSince: number;
  /** How often a process began to read the results of the batch and did not end. */
  readonly readings: number;
  /** The batch of a vendor that runs the lines, as its kind recorded it. */
  readonly vendorBatch: string | null;
  readonly reserved: RangeReservation | null;
}

export interface ClaimedRange extends Omit<NewRange, keyof RangeState>, RangeState {
  readonly job: StoredJob;
  readonly number: number;
  /** Lines that have ended: the next line is `firstLine + settled`. */
  readonly settled: number;
  /** How often the range was claimed before. */
  readonly attempts: number;
  /** Upstream requests of the line in flight that an earlier holder sent, or was about to. */
  readonly sent: number;
  /** The upstreams' operations of these requests, as JSON, for another process to poll. Null if none is known. */
  readonly upstreamOperations: string | null;
  /** Why the last attempt ended. Null if lines have ended since. */
  readonly lastError: LastError | null;
}

/** What is reserved for a range, and whose budgets those are. */
export interface ReservedRange extends JobOwner {
  readonly jobId: string;
  readonly number: number;
  readonly reserved: RangeReservation;
}

/** A claim, by which its holder changes the range. */
export interface RangeClaim {
  readonly jobId: string;
  readonly number: number;
  readonly holder: string;
  /** `attempts` of the range when it was claimed: no two claims of a range have the same. */
  readonly attempt: number;
}

/** The project that a job belongs to, and the API key that submitted it. */
export type JobOwner = Pick<NewJob, "owner" | "keyId">;

/** What a process looks for. */
export interface Work {
  readonly kind: JobKindName;
  /** Ranges of jobs of these endpoints. Null if jobs that are to be validated or finalized. */
  readonly endpoints: readonly string[] | null;
  /** Unix milliseconds. */
  readonly now: number;
  /** What another process holds is not claimed after the end of its lease. If absent, it is. */
  readonly exceptExpired?: boolean;
}

export interface Claim extends Work, JobOwner {
  /** Another one for each claim, so that a process that lost a claim and got it again has only one of them. */
  readonly holder: string;
  /** The end of the lease, in Unix milliseconds. */
  readonly until: number;
}

export interface SettledLines {
  /** Lines of the range that had ended before. */
  readonly from: number;
  readonly completed: number;
  readonly failed: number;
  /** The size of their results. */
  readonly bytes: number;
  /** Their known cost, in US dollars, and without the discount of a vendor's batch. Null if unknown. */
  readonly cost: number | null;
  readonly listCost: number | null;
  /** Of the lines that failed. */
  readonly errors: readonly LineErrors[];
  /** What is still reserved for the range. Null if nothing. */
  readonly reserved: RangeReservation | null;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface JobEnd {
  readonly status: Exclude<JobStatus, "validating" | "in_progress" | "finalizing">;
  readonly at: number;
  readonly expiresAt: number;
  /** What the job still stores. If absent, as before. */
  readonly bytes?: number;
  /** No line counts as completed. If absent, those count that did. */
  readonly hasNoResults?: boolean;
  /** What is added to the cost of the job, in US dollars. */
  readonly cost?: number | undefined;
  readonly error?: JobError | null;
  readonly data?: JobData;
}

export interface JobPage {
  /** The id of the last job of the page before. The default is the first page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface JobRow {
  readonly id: string;
  readonly kind: JobKindName;
  readonly endpoint: string;
  readonly owner: string;
  readonly key_id: string;
  readonly status: JobStatus;
  readonly ending: JobEnding | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly paused_at: number | null;
  readonly cancelling_at: number | null;
  readonly finalizing_at: number | null;
  readonly ended_at: number | null;
  readonly deadline: number;
  readonly expires_at: number;
  readonly validations: number;
  readonly lines: number;
  readonly completed: number;
  readonly failed: number;
  readonly bytes: number;
  readonly cost: number | null;
  readonly list_cost: number | null;
  /** The time, a space, and the error. Absent in rows that a statement returns which changes them. */
  readonly waiting?: string | null;
  readonly line_errors: string | null;
  readonly error: string | null;
  readonly data: string;
}

export interface RangeRow {
  readonly number: number;
  readonly first_line: number;
  readonly lines: number;
  readonly position: number;
  readonly settled: number;
  readonly attempts: number;
  readonly phase: RangePhase;
  readonly phase_since: number;
  readonly readings: number;
  readonly sent: number;
  readonly upstream_operations: string | null;
  readonly last_error: string | null;
  readonly vendor_batch: string | null;
  readonly reserved: string | null;
}

export interface ReservedRow {
  readonly job_id: string;
  readonly number: number;
  readonly owner: string;
  readonly key_id: string;
  readonly reserved: string;
}

export const jobOf = (row: JobRow): StoredJob => ({
  id: row.id,
  kind: row.kind,
  endpoint: row.endpoint,
  owner: row.owner,
  keyId: row.key_id,
  status: row.status,
  ending: row.ending,
  createdAt: row.created_at,
  startedAt: row.started_at,
  pausedAt: row.paused_at,
  cancellingAt: row.cancelling_at,
  finalizingAt: row.finalizing_at,
  endedAt: row.ended_at,
  deadline: row.deadline,
  expiresAt: row.expires_at,
  validations: row.validations,
  lines: row.lines,
  completed: row.completed,
  failed: row.failed,
  bytes: row.bytes,
  cost: row.cost,
  listCost: row.list_cost,
  waiting: waitOf(row.waiting ?? null),
  lineErrors: row.line_errors === null ? [] : (JSON.parse(row.line_errors) as LineErrors[]),
  error: row.error === null ? null : (JSON.parse(row.error) as JobError),
  data: JSON.parse(row.data) as JobData,
});

/**
 * The columns of a job that is read. Of its waits, that of a range comes first, because ranges run only while the job
 * itself does not wait.
 */
export const jobColumns = `jobs.*, coalesce(
  (SELECT waits_until || ' ' || last_error FROM vexel.job_ranges
   WHERE job_id = jobs.id AND last_error IS NOT NULL ORDER BY waits_until LIMIT 1),
  waits_until || ' ' || last_error) AS waiting`;

function waitOf(text: string | null): Wait | null {
  if (text === null) return null;
  const end = text.indexOf(" ");
  return { until: Number(text.slice(0, end)), error: JSON.parse(text.slice(end)) as LastError };
}

/** `attempts` of the row counts the claim that returned it. */
export const rangeOf = (row: RangeRow, job: StoredJob): ClaimedRange => ({
  job,
  number: row.number,
  firstLine: row.first_line,
  lines: row.lines,
  position: row.position,
  settled: row.settled,
  attempts: row.attempts - 1,
  phase: row.phase,
  phaseSince: row.phase_since,
  readings: row.readings,
  sent: row.sent,
  upstreamOperations: row.upstream_operations,
  lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as LastError),
  vendorBatch: row.vendor_batch,
  reserved: row.reserved === null ? null : (JSON.parse(row.reserved) as RangeReservation),
});
