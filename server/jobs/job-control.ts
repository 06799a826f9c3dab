/**
 * A job of which this process runs a range: whether it is ending, and the signals that end its lines. A line that is
 * sent when its job ends may go on for a while, because it is paid for.
 */
import type { JobEnding, StoredJob } from "../storage/sql/stored-job.ts";

interface JobControlOptions {
  /** How long lines that are sent may go on when the job ends. */
  readonly inFlightMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export class JobControl {
  readonly #options: JobControlOptions;
  #job: StoredJob;
  readonly #ending = new AbortController();
  readonly #inFlightEnd = new AbortController();
  /** Ranges of the job that this process runs. */
  claims = 0;

  constructor(job: StoredJob, options: JobControlOptions) {
    this.#options = options;
    this.#job = job;
    this.update(job);
  }

  get job(): StoredJob {
    return this.#job;
  }

  get ending(): JobEnding | null {
    return this.#job.ending;
  }

  get isPaused(): boolean {
    return this.#job.pausedAt !== null;
  }

  /** Aborted when the job ends early: no other line is sent. */
  get endingSignal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Aborted when the time of lines that were sent before is over. */
  get inFlightSignal(): AbortSignal {
    return this.#inFlightEnd.signal;
  }

  /** To be called again until the job has ended. */
  update(job: StoredJob): void {
    this.#job = job;
    if (job.ending === null) return;
    this.#ending.abort();
    const { inFlightMs, now } = this.#options;
    if (now() >= endedAt(job) + inFlightMs) this.#inFlightEnd.abort();
  }
}

const endedAt = ({ ending, cancellingAt, finalizingAt, deadline }: StoredJob): number => {
  if (ending === "cancelled") return cancellingAt ?? 0;
  return ending === "failed" ? (finalizingAt ?? 0) : deadline;
};
