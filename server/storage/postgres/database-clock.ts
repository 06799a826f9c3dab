/**
 * The clock of the database, without a query for each reading: the replica's own clock and the offset between the two.
 * What is in the database has the times of this clock, so that replicas whose clocks differ agree on what is due.
 */
import { repeat } from "../../lib/timers.ts";
import type { JobStore } from "../sql/job-store.ts";

interface DatabaseClockOptions {
  /** The time of the database, in Unix milliseconds. */
  readonly serverNow: () => Promise<number>;
  /** The replica's own clock, in Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Between two measurements. The default is 10 s. */
  readonly everyMs?: number;
}

export class DatabaseClock {
  readonly #options: DatabaseClockOptions;
  #offsetMs = 0;
  #isMeasured = false;
  #stop: (() => Promise<void>) | undefined;

  constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  /** Unix milliseconds. */
  readonly now = (): number => Math.round(this.#options.now() + this.#offsetMs);

  /** False: the database was unreachable since the start, so this is the replica's own clock. */
  get isMeasured(): boolean {
    return this.#isMeasured;
  }

  /** Measures the offset, and then again and again. While the database is unreachable, the last offset counts. */
  async start(): Promise<void> {
    const { everyMs = 10_000 } = this.#options;
    try {
      await this.#measure();
    } catch {
      // Other queries report that the database is unreachable.
    }
    this.#stop = repeat({ everyMs }, () => this.#measure());
  }

  async #measure(): Promise<void> {
    const { serverNow, now, clock } = this.#options;
    const sentAt = clock();
    const server = await serverNow();
    const roundTripMs = clock() - sentAt;
    const offsetMs = server + roundTripMs / 2 - now();
    // A smaller difference is within the error of the measurement.
    if (Math.abs(offsetMs - this.#offsetMs) > roundTripMs) this.#offsetMs = offsetMs;
    this.#isMeasured = true;
  }

  async close(): Promise<void> {
    await this.#stop?.();
  }
}

/**
 * Until the clock is measured, no job is late and none is claimed: a replica whose own clock is wrong would end the jobs
 * of all replicas, and hold leases that have expired or never do.
 */
export const withMeasuredClock = (
  jobs: JobStore,
  clock: Pick<DatabaseClock, "isMeasured">,
): JobStore => ({
  ...jobs,
  listWaiting: async (work) => (clock.isMeasured ? jobs.listWaiting(work) : []),
  expire: async (now) => {
    if (clock.isMeasured) await jobs.expire(now);
  },
  listExpired: async (now, limit) => (clock.isMeasured ? jobs.listExpired(now, limit) : []),
  // A day after the end of a job, what is left at a vendor is given up.
  listUncleaned: async (now, limit) => (clock.isMeasured ? jobs.listUncleaned(now, limit) : []),
});
