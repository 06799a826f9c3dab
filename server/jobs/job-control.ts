/** A job of which this process runs a range: whether it is ending, and the signal that ends its lines. */
import type { JobEnding, StoredJob } from "../storage/sql/stored-job.ts";

export class JobControl {
  #job: StoredJob;
  readonly #controller = new AbortController();
  /** Ranges of the job that this process runs. */
  claims = 0;

  constructor(job: StoredJob) {
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

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  update(job: StoredJob): void {
    this.#job = job;
    if (job.ending !== null) this.#controller.abort();
  }
}
