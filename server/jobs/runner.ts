/**
 * The runner of jobs in one process: claims ranges of lines and jobs that begin or end, renews its leases, ends jobs
 * after their deadline and deletes expired ones. Any number of processes share the jobs of one store.
 */
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { dayMs, hourMs, repeat } from "../lib/timers.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { Claim, JobEnd, JobKindName, StoredJob, Work } from "../storage/sql/stored-job.ts";
import { type JobKind, jobErrorOf, lastErrorOf } from "./job-kind.ts";
import { JobSlots } from "./job-slots.ts";
import { JobControl } from "./line-attempts.ts";
import { RangeRun, type RunRangeOptions } from "./run-range.ts";
import { jobFolder, resultsOf } from "./segments.ts";
import { retryAt } from "./waits.ts";

interface RunnerOptions extends RunRangeOptions {
  readonly kinds: readonly JobKind[];
  /** The id of this process. Each of its claims has a holder of its own, which begins with it. */
  readonly holder: string;
  /** How long a job that has ended is stored. */
  readonly ttlMs: (kind: JobKindName) => number;
  /** Called when a job has ended, once. */
  readonly onEnded: (job: StoredJob) => void;
  /** Records the event of a job that has ended, for its owner. Called again if it rejects, or if the process dies. */
  readonly recordEvent: (job: StoredJob) => Promise<void>;
  readonly controls: Map<string, JobControl>;
  readonly log: Pick<Log, "warn" | "error">;
}

/** A process that does not renew its leases for this long has ended. */
const leaseMs = 20_000;
const renewMs = 5000;
/** After this long without a renewal, the database was not available. */
const unavailableMs = 2 * renewMs;
/** How often an idle process looks for work. */
const pollMs = 1000;
const sweepMs = 30_000;
/** A job that cannot be validated or finalized is tried again, until an hour after its deadline. */
const minWaitMs = 10_000;
/** One that failed until this long after its last line: its results may be what fills the disk. */
const finalizeFailedMs = 600_000;
/** One that failed, and of which it could not be charged what a vendor may bill, until this long after its last line. */
const chargeMs = dayMs;
/** The most jobs of a kind that one process validates or finalizes at the same time. */
const maxAdvanced = 16;
/** A process that dies while it validates a job has tried too: its input may be what ended the process. */
const maxValidations = 3;
const [deletedAtOnce, announcedAtOnce, cleanedAtOnce] = [100, 1000, 100];
const [cleanUpMs, minuteMs] = [2000, 60_000];

/** Work on jobs of a kind, and the slots of this process for it. */
interface SlottedWork extends Pick<Work, "endpoints"> {
  readonly kind: JobKind;
  readonly slots: JobSlots;
}

/** Jobs are validated and finalized beside each other, and never wait for a slot of a line. */
const worksOf = (kind: JobKind): readonly SlottedWork[] => [
  { kind, endpoints: null, slots: new JobSlots(maxAdvanced) },
  ...kind.ranges.map(({ endpoints, max }) => ({ kind, endpoints, slots: new JobSlots(max) })),
];

/** What a slot is for. */
interface Claimed {
  readonly job: StoredJob;
  readonly run: () => Promise<void>;
}

export class JobRunner {
  readonly #options: RunnerOptions;
  readonly #works: readonly SlottedWork[];
  readonly #tasks = new Set<Promise<void>>();
  readonly #stops: (() => Promise<void>)[] = [];
  /** The holders of the claims that this process works on. A claim that it does not know of is not renewed. */
  readonly #held = new Set<string>();
  #claims = 0;
  #renewedAt: number;
  /** Every renewal since then was on time. */
  #availableSince: number;
  #isClaiming = false;
  #claimAgain = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#works = options.kinds.flatMap(worksOf);
    this.#renewedAt = options.now();
    this.#availableSince = this.#renewedAt;
  }

  start(): void {
    const every = (everyMs: number, work: () => Promise<void>): void => {
      this.#stops.push(repeat({ everyMs, onFailure: this.#onFailure }, work));
    };
    every(pollMs, () => this.#claim());
    every(renewMs, () => this.renew());
    every(sweepMs, () => this.sweep());
    every(cleanUpMs, () => this.#cleanUp());
    void this.#guard(() => this.#announceEarlier());
    this.wake();
  }

  /** Looks for work now. */
  wake(): void {
    void this.#guard(() => this.#claim());
  }

  /** After `stopping` is aborted: waits until the ranges are given back. */
  async close(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
    await Promise.all(this.#tasks);
  }

  /** Records events that an earlier process did not record, and deletes expired jobs. */
  async sweep(): Promise<void> {
    const { store, files, now } = this.#options;
    await this.#announceEarlier();
    for (const { id } of await store.listExpired(now(), deletedAtOnce)) {
      await files.removeFolder(jobFolder(id));
      await store.remove(id);
    }
  }

  /** Deletes what ranges that have ended left at vendors. A day after the end of the job, it is given up. */
  async #cleanUp(): Promise<void> {
    const { store, kinds, now } = this.#options;
    for (const range of await store.listUncleaned(now(), cleanedAtOnce)) {
      const { job, number } = range;
      const isClean = await kinds.find(({ name }) => name === job.kind)?.cleanUp?.(range);
      const since = job.endedAt ?? now();
      // What a vendor may bill for a range of a job that failed is charged from its row, before the job ends.
      const isCharged = range.settled >= range.lines || job.endedAt !== null;
      const isOver = isCharged && (isClean !== false || now() - since > dayMs);
      const at = retryAt(since, now(), { minMs: minuteMs, maxMs: hourMs });
      await store.setCleaned(job.id, number, isOver ? undefined : at);
    }
  }

  async #announceEarlier(): Promise<void> {
    const unannounced = await this.#options.store.listUnannounced(announcedAtOnce);
    for (const job of unannounced) await this.#announce(job);
  }

  async #announce(job: StoredJob): Promise<void> {
    const { store, recordEvent } = this.#options;
    await recordEvent(job);
    await store.setAnnounced(job.id);
  }

  /** Renews the leases of this process, and ends jobs after their deadline. */
  async renew(): Promise<void> {
    const { store, controls, now } = this.#options;
    await store.expire(now());
    if (this.#held.size > 0) {
      for (const job of await store.renew([...this.#held], now() + leaseMs))
        controls.get(job.id)?.update(job);
    }
    const at = now();
    if (at - this.#renewedAt > unavailableMs) this.#availableSince = at;
    this.#renewedAt = at;
  }

  /**
   * While the database is not available, the leases of all processes expire. Their lines in flight are paid for, so each
   * process first gets the time of a lease to renew its own.
   */
  #mayClaimExpired(): boolean {
    const at = this.#options.now();
    return at - this.#renewedAt <= unavailableMs && at - this.#availableSince >= leaseMs;
  }

  async #claim(): Promise<void> {
    if (this.#isClaiming) {
      this.#claimAgain = true;
      return;
    }
    this.#isClaiming = true;
    try {
      do {
        this.#claimAgain = false;
        for (const work of this.#works) await this.#claimOf(work);
      } while (this.#claimAgain);
    } finally {
      this.#isClaiming = false;
    }
  }

  /** Claims in turns, while a slot is free. */
  async #claimOf(work: SlottedWork): Promise<void> {
    const { kind, endpoints, slots } = work;
    const { store, stopping, now } = this.#options;
    if (!slots.hasFree) return;
    const sought = (): Work => {
      const exceptExpired = !this.#mayClaimExpired();
      return { kind: kind.name, endpoints, now: now(), exceptExpired };
    };
    const waiting = new Set(await store.listWaiting(sought()));
    slots.setWaiting([...waiting]);
    while (!stopping.aborted) {
      const next = slots.next(waiting);
      if (!next) return;
      const holder = `${this.#options.holder}-${++this.#claims}`;
      const claim: Claim = { ...sought(), ...next, holder, until: now() + leaseMs };
      const claimed = endpoints
        ? await this.#claimRange(kind, claim)
        : await this.#claimJob(kind, claim);
      if (claimed) this.#run(work, claimed, holder);
      else waiting.delete(next);
    }
  }

  async #claimJob(kind: JobKind, claim: Claim): Promise<Claimed | undefined> {
    const job = await this.#options.store.claimJob(claim);
    return job && { job, run: () => this.#advance(kind, job, claim.holder) };
  }

  async #claimRange(kind: JobKind, claim: Claim): Promise<Claimed | undefined> {
    const range = await this.#options.store.claimRange(claim);
    if (!range) return undefined;
    const { job, number, attempts: attempt } = range;
    const rangeClaim = { jobId: job.id, number, holder: claim.holder, attempt };
    return { job, run: () => new RangeRun(this.#options, kind, range, rangeClaim).run() };
  }

  #run({ kind, slots }: SlottedWork, { job, run }: Claimed, holder: string): void {
    this.#held.add(holder);
    slots.take(job);
    const { controls, now } = this.#options;
    const { inFlightMs } = kind;
    const control = controls.get(job.id) ?? new JobControl(job, { inFlightMs, now });
    control.update(job);
    control.claims++;
    controls.set(job.id, control);
    const task = this.#guard(run).finally(() => {
      this.#tasks.delete(task);
      this.#held.delete(holder);
      slots.release(job);
      if (--control.claims === 0) controls.delete(job.id);
      this.wake();
    });
    this.#tasks.add(task);
  }

  /** Validates or finalizes a job. */
  async #advance(kind: JobKind, job: StoredJob, holder: string): Promise<void> {
    const { store, files, now, log } = this.#options;
    let isCharged = true;
    let cost: number | undefined;
    try {
      if (job.status === "finalizing") {
        isCharged = false;
        cost = await this.#chargeRest(kind, job);
        isCharged = true;
        const finished = await kind.finish(job, resultsOf(files, job.id));
        await this.#end(job, holder, { ...finished, cost });
      } else await this.#prepare(kind, job, holder);
    } catch (thrown) {
      log.warn("job-not-advanced", { job: job.id, reason: errorMessage(thrown) });
      const error = toGatewayError(thrown, undefined);
      if (now() >= lastAttemptAt(job, isCharged))
        return this.#end(job, holder, {
          status: "failed",
          error: job.error ?? jobErrorOf(error),
          hasNoResults: true,
          cost,
        });
      // Without storage it was not tried.
      const validations = job.validations - (isStorageUnavailable(error) ? 1 : 0);
      const until = retryAt(job.finalizingAt ?? job.createdAt, now(), { minMs: minWaitMs });
      const wait = { until, error: lastErrorOf(error) };
      await store.releaseJob({ id: job.id, validations }, holder, wait);
    }
  }

  async #prepare(kind: JobKind, job: StoredJob, holder: string): Promise<void> {
    const { store, files } = this.#options;
    if (!kind.prepare) {
      // Its process ended, or lost the database, while it stored the request. The client got no job.
      await files.removeFolder(jobFolder(job.id));
      await store.discard(job.id, holder);
      return;
    }
    if (job.ending) return this.#end(job, holder, { status: job.ending });
    if (job.validations > maxValidations)
      return this.#end(job, holder, { status: "failed", error: jobErrorOf(notValidated()) });
    const prepared = await kind.prepare(job).catch((error: unknown) => {
      if (!(error instanceof GatewayError) || isStorageUnavailable(error)) throw error;
      return { failure: jobErrorOf(error), data: job.data };
    });
    if ("failure" in prepared) {
      const { failure, data } = prepared;
      return this.#end(job, holder, { status: "failed", error: failure, data });
    }
    await store.start(job.id, holder, prepared.ranges, prepared.data, this.#options.now());
  }

  /** Returns the cost in US dollars. Undefined if nothing is charged, or nothing has a known price. */
  async #chargeRest(kind: JobKind, job: StoredJob): Promise<number | undefined> {
    if (job.ending !== "failed" || !kind.chargeRest) return undefined;
    let cost: number | undefined;
    for (const range of await this.#options.store.listAtVendor(job)) {
      const charged = await kind.chargeRest(range);
      if (charged !== undefined) cost = (cost ?? 0) + charged;
    }
    return cost;
  }

  async #end(job: StoredJob, holder: string, end: Omit<JobEnd, "at" | "expiresAt">): Promise<void> {
    const { store, now, ttlMs, onEnded } = this.#options;
    const at = now();
    const expiresAt = at + ttlMs(job.kind);
    const ended = await store.end(job.id, holder, { ...end, at, expiresAt });
    if (!ended) return;
    onEnded(ended);
    // If it fails, the next sweep of any process tries again.
    await this.#guard(() => this.#announce(ended));
  }

  /** The database or the disk is not available: the next turn tries again. */
  async #guard(work: () => Promise<void>): Promise<void> {
    await work().catch(this.#onFailure);
  }

  readonly #onFailure = (error: unknown): void =>
    this.#options.log.error("jobs-stalled", { reason: errorMessage(error) });
}

const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof GatewayError && error.kind === "storage_unavailable";

const notValidated = (): GatewayError =>
  new GatewayError(
    "job_not_validated",
    `The input could not be validated in ${maxValidations} attempts: each time the gateway stopped or failed. Split the input into several jobs, and tell the gateway's operator.`,
  );

const lastAttemptAt = (
  { ending, finalizingAt, deadline }: StoredJob,
  isCharged: boolean,
): number =>
  ending === "failed" && finalizingAt !== null
    ? finalizingAt + (isCharged ? finalizeFailedMs : chargeMs)
    : deadline + hourMs;
