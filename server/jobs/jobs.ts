/** The jobs of clients: submission with its quotas, and what a client may do with a job. */
import { GatewayError } from "../lib/gateway-error.ts";
import { sleep } from "../lib/timers.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import { maxPageBytes } from "../storage/sql/job-pages.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { PageRequest } from "../storage/sql/page.ts";
import type {
  JobKindName,
  JobPage,
  JobQuota,
  NewJob,
  StoredJob,
} from "../storage/sql/stored-job.ts";
import { type ImageResult, readImageResult } from "./image-kind.ts";
import type { JobControl } from "./line-attempts.ts";
import { jobFolder, listSegments } from "./segments.ts";

interface JobsOptions {
  readonly store: JobStore;
  readonly files: FileStore;
  /** Of one owner, and of all together. */
  readonly quotas: { readonly own: JobQuota; readonly all: JobQuota };
  /** How long a job is stored after its end, or after its deadline. */
  readonly ttlMs: (kind: JobKindName) => number;
  readonly controls: ReadonlyMap<string, JobControl>;
  /** Looks for work. */
  readonly wake: () => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

type Submitted = Pick<
  NewJob,
  "kind" | "endpoint" | "owner" | "keyId" | "status" | "bytes" | "data" | "idempotencyKey"
> &
  Pick<NewJob, "ranges" | "claim"> & {
    readonly id: string;
    /** The longest time until all lines have run. */
    readonly windowMs: number;
  };

export type { StoredJob };

export type Jobs = ReturnType<typeof createJobs>;

/** How often the end of a job is looked for while its client waits: the longer it takes, the less often. */
const [minPollMs, maxPollMs] = [50, 1000];

/** The longest wait for another submission with the same idempotency key. */
const maxSubmitMs = 150_000;

export function createJobs(options: JobsOptions) {
  const { store, files, quotas, ttlMs, controls, wake, now } = options;

  const find = async (owner: string, id: string, object?: string): Promise<StoredJob> => {
    const job = await store.find(owner, id);
    if (!job) throw jobNotFound(id, object);
    return job;
  };

  return {
    find,
    /** Of any owner: for the console. */
    findById: (id: string) => store.findById(id),
    listAll: (owners: readonly string[] | null, page: PageRequest) => store.listAll(owners, page),
    /**
     * The job with this idempotency key, when its request is stored. Undefined if there is none, or it could not be
     * stored. Throws GatewayError if that takes too long.
     */
    findSubmitted: async (owner: string, key: string, signal: AbortSignal) => {
      const until = now() + maxSubmitMs;
      for (let waitMs = minPollMs; ; waitMs = Math.min(2 * waitMs, maxPollMs)) {
        const job = await store.findByKey(owner, key);
        if (job?.kind !== "image" || job.status !== "validating") return job;
        if (now() > until || signal.aborted) throw stillSubmitted();
        await sleep(waitMs, signal).catch(() => undefined);
      }
    },
    /** Undefined if the job `after` does not exist. */
    list: (owner: string, kind: JobKindName, page: JobPage) => store.list(owner, kind, page),
    /** `isNew`: false if a job with the same idempotency key exists. Throws GatewayError. */
    submit: async ({ windowMs, ...job }: Submitted) => {
      const createdAt = now();
      const deadline = createdAt + windowMs;
      const created = await store.create(
        { ...job, createdAt, deadline, expiresAt: deadline + ttlMs(job.kind) },
        quotas.own,
        quotas.all,
      );
      if (created.kind === "over_quota") throw overQuota(created, quotas);
      if (!job.claim) wake();
      return { job: created.job, isNew: created.kind === "created" };
    },
    cancel: async (owner: string, id: string): Promise<StoredJob> => {
      const job = await store.cancel(owner, id, now());
      if (!job) throw jobNotFound(id);
      controls.get(id)?.update(job);
      wake();
      return job;
    },
    /** `isPaused`: false resumes the job. */
    pause: async (owner: string, id: string, isPaused: boolean): Promise<StoredJob> => {
      const job = await store.pause(owner, id, isPaused ? now() : null);
      if (!job) throw jobNotFound(id);
      controls.get(id)?.update(job);
      wake();
      return job;
    },
    /** Deletes a job that has ended, with its results. Throws GatewayError. */
    remove: async (owner: string, id: string): Promise<void> => {
      const { endedAt } = await find(owner, id);
      if (endedAt === null) {
        throw new GatewayError(
          "job_not_ended",
          `The job ${id} has not ended. Cancel it first, and delete it when it has ended.`,
        );
      }
      await files.removeFolder(jobFolder(id));
      await store.remove(id);
    },
    /** The result of an image job. Undefined if it is missing. */
    result: async (id: string): Promise<ImageResult | undefined> => {
      const segment = (await listSegments(files, id)).find(({ kind }) => kind === "output");
      const file = segment && (await files.find(segment.name));
      return file && readImageResult(file);
    },
    /** Waits until the job has ended, at most this long. */
    waitForEnd: async (job: StoredJob, ms: number, signal: AbortSignal): Promise<StoredJob> => {
      const [from, until] = [now(), now() + ms];
      let current = job;
      while (current.endedAt === null && now() < until && !signal.aborted) {
        const pollMs = Math.min(Math.max((now() - from) / 5, minPollMs), maxPollMs);
        const leftMs = Math.max(0, until - now());
        await sleep(Math.min(pollMs, leftMs), signal).catch(() => undefined);
        current = (await store.find(job.owner, job.id)) ?? current;
      }
      return current;
    },
  };
}

const stillSubmitted = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "A job with this Idempotency-Key is being stored. Retry in a few seconds.",
    { notSent: true, retryAfterMs: 2000 },
  );

export const jobNotFound = (id: string, object = "job"): GatewayError =>
  new GatewayError("object_not_found", `No such ${object}: ${id.slice(0, 100)}`, { param: "id" });

function overQuota(
  { quota, isOwn }: { readonly quota: "jobs" | "bytes"; readonly isOwn: boolean },
  { own, all }: JobsOptions["quotas"],
): GatewayError {
  const whose = isOwn ? "of this project" : "of this gateway";
  const max = (isOwn ? own : all)[quota];
  return new GatewayError(
    "job_quota_exceeded",
    quota === "jobs"
      ? `At most ${max} jobs ${whose} may be unfinished. Wait until some have ended, or cancel some.`
      : `The jobs ${whose} may store ${max} bytes. Delete jobs that have ended, or ask the gateway's operator to raise VEXEL_JOBS_MAX_BYTES.`,
  );
}

/** Metadata, whose characters may all be escaped, and errors of one job. */
const maxJobBytes = 96 * 1024;
/** The other members of one job. */
const jobMembersBytes = 2048;

/** The most bytes of the JSON of a list of jobs. */
export const maxBytesOfJobs = (limit: number): number =>
  Math.min(limit * maxJobBytes, maxPageBytes) + limit * jobMembersBytes;
