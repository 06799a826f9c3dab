/**
 * Port: jobs, requests whose results are fetched later. A job has lines, each of which is one request. Processes claim
 * ranges of lines under a lease; how far a range has come is one number, so there is no row per line. Results are in
 * the file store.
 */

import type { PageRequest, StoredPage } from "./page.ts";

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
  /** A job of the same owner with the same key is not created again. Absent: it is. */
  readonly idempotencyKey?: string | undefined;
  /** The ranges of a job that is not validated. */
  readonly ranges?: readonly NewRange[];
  /** The process that is still writing the input of the job has claimed it. Absent: any process may claim it. */
  readonly claim?: Pick<Claim, "holder" | "until">;
}

export type JobData = Readonly<Record<string, unknown>>;

export interface NewRange {
  readonly firstLine: number;
  readonly lines: number;
  /** Where the first line begins in the input, in bytes. */
  readonly position: number;
}

export interface StoredJob extends Omit<NewJob, "status" | "ranges" | "idempotencyKey" | "claim"> {
  readonly status: JobStatus;
  readonly ending: JobEnding | null;
  readonly startedAt: number | null;
  readonly pausedAt: number | null;
  readonly cancellingAt: number | null;
  readonly finalizingAt: number | null;
  readonly endedAt: number | null;
  readonly lines: number;
  /** Lines that have ended, by success. */
  readonly completed: number;
  readonly failed: number;
  /** The known cost of lines that have ended, in US dollars. Null: unknown. */
  readonly cost: number | null;
  /** What they would have cost without the discount of a vendor's batch. Null: unknown. */
  readonly listCost: number | null;
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

export interface ClaimedRange extends NewRange {
  readonly job: StoredJob;
  readonly number: number;
  /** Lines that have ended: the next line is `firstLine + settled`. */
  readonly settled: number;
  /** How often the range was claimed before. */
  readonly attempts: number;
  /** What an earlier holder recorded about its line in flight. Null: nothing was sent. */
  readonly intent: string | null;
  /** The batch of a vendor that runs the lines, as its kind recorded it. Null: there is none. */
  readonly vendorBatch: string | null;
}

/** A claim, by which its holder changes the range. */
export interface RangeClaim {
  readonly jobId: string;
  readonly number: number;
  readonly holder: string;
}

export interface Claim {
  readonly kind: JobKindName;
  /** Another one for each claim, so that a process that lost a claim and got it again has only one of them. */
  readonly holder: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** The end of the lease. */
  readonly until: number;
  /** Ranges of jobs of this endpoint are not claimed. Absent: those of every endpoint are. */
  readonly exceptEndpoint?: string | undefined;
}

export interface SettledLines {
  /** Lines of the range that had ended before. */
  readonly from: number;
  readonly completed: number;
  readonly failed: number;
  /** The size of their results. */
  readonly bytes: number;
  /** Their known cost, in US dollars, and without the discount of a vendor's batch. Null: unknown. */
  readonly cost: number | null;
  readonly listCost: number | null;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface JobEnd {
  readonly status: Exclude<JobStatus, "validating" | "in_progress" | "finalizing">;
  readonly at: number;
  readonly expiresAt: number;
  /** What the job still stores. Absent: as before. */
  readonly bytes?: number;
  /** No line counts as completed. Absent: those count that did. */
  readonly hasNoResults?: boolean;
  readonly error?: JobError | null;
  readonly data?: JobData;
}

export interface JobPage {
  /** The id of the last job of the page before. Absent: the first page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Every method rejects once the store is closed. */
export interface JobStore {
  /** `own` and `all`: the quotas of the owner, and of all owners together. */
  create(job: NewJob, own: JobQuota, all: JobQuota): Promise<CreatedJob>;
  /** Undefined: there is none, or it belongs to another owner. */
  find(owner: string, id: string): Promise<StoredJob | undefined>;
  /** By its idempotency key. */
  findByKey(owner: string, idempotencyKey: string): Promise<StoredJob | undefined>;
  /** Newest first. Undefined: the job `after` does not exist. */
  list(owner: string, kind: JobKindName, page: JobPage): Promise<readonly StoredJob[] | undefined>;
  /** Of any owner. */
  findById(id: string): Promise<StoredJob | undefined>;
  /** Of every kind, newest first. `owners`: null lists the jobs of all owners. */
  listAll(owners: readonly string[] | null, page: PageRequest): Promise<StoredPage<StoredJob>>;
  /** Deletes a job that has ended. False: there is none. */
  remove(id: string): Promise<boolean>;

  /**
   * Claims a job that is to be validated, or to be finalized and of which no process holds a range. Two processes never
   * claim the same one.
   */
  claimJob(claim: Claim): Promise<StoredJob | undefined>;
  /** A validated job begins. False: the claim was lost. */
  start(
    id: string,
    holder: string,
    ranges: readonly NewRange[],
    data: JobData | undefined,
  ): Promise<boolean>;
  /**
   * Ends a job that this process has claimed, deletes its ranges, and notes that its event is to be recorded. If the job
   * could not continue, its lines without a result count as failed. Undefined: the claim was lost.
   */
  end(id: string, holder: string, end: JobEnd): Promise<StoredJob | undefined>;
  /** Jobs that have ended and whose event is not recorded yet, at most `limit`. */
  listUnannounced(limit: number): Promise<readonly StoredJob[]>;
  /** The event of the job is recorded. */
  setAnnounced(id: string): Promise<void>;
  /** Gives a claimed job back: it is claimed again from `at` on. */
  releaseJob(id: string, holder: string, at: number): Promise<void>;

  /** Claims the next range, of the job that waits longest for a claim. Two processes never claim the same one. */
  claimRange(claim: Claim): Promise<ClaimedRange | undefined>;
  /**
   * Records that a line is sent, before it is. Null: the line that was sent is known not to be billed. False: the claim
   * was lost, and nothing may be sent.
   */
  recordIntent(claim: RangeClaim, intent: string | null): Promise<boolean>;
  /** Records the batch of a vendor that runs the lines of the range. False: the claim was lost. */
  recordVendorBatch(claim: RangeClaim, vendorBatch: string): Promise<boolean>;
  /** What was recorded for the ranges of a job. */
  listVendorBatches(jobId: string): Promise<readonly string[]>;
  /** The next lines of the range have ended. Clears the intent. False: the claim was lost, and they do not count. */
  settle(claim: RangeClaim, lines: SettledLines): Promise<boolean>;
  /**
   * Gives a range back: it is claimed again from `at` on. Its intent stays. `isUnused`: no line ran, so the claim does
   * not count as an attempt.
   */
  releaseRange(claim: RangeClaim, at: number, isUnused?: boolean): Promise<void>;
  /** Extends the leases of these holders, at least one. Returns the jobs of which they hold a claim. */
  renew(holders: readonly string[], until: number): Promise<readonly StoredJob[]>;
  /** At the start of the only process of a data folder: the leases of earlier processes end. */
  releaseAll(): Promise<void>;

  /** Undefined: there is none. A job that has ended, or is ending, stays as it is. */
  cancel(owner: string, id: string, now: number): Promise<StoredJob | undefined>;
  /** A paused job begins no line. `at`: null resumes it. Undefined: there is none. */
  pause(owner: string, id: string, at: number | null): Promise<StoredJob | undefined>;
  /** A job that cannot continue: its other lines never run, and it is finalized. */
  fail(id: string, error: JobError, now: number): Promise<void>;
  /** The lines of jobs after their deadline end without running. */
  expire(now: number): Promise<void>;
  /** Jobs that are to be deleted, at most `limit`. */
  listExpired(now: number, limit: number): Promise<readonly StoredJob[]>;
}
