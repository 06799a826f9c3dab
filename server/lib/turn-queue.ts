/**
 * Against event loop blocking: a fair queue of work that would block the event loop, such as parsing a large body. The
 * work runs in steps, for a few milliseconds in each turn of the event loop, round robin among owners (API keys). While
 * several jobs wait, the queue takes at most half of the time.
 */

interface SlicedWork {
  /** Works until the turn is over. Returns whether the job is done. Never throws. */
  work(): boolean;
  /** Settles the promise, in a later turn than the last step. */
  resume(): void;
}

/** Maximum time slice. A step is never interrupted, so other requests wait at most this time plus the longest step. */
const turnMs = 5;

export class TurnQueue {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By owner, in the order of their next turn. */
  readonly #waiting = new Map<string, SlicedWork[]>();
  #isRunning = false;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Resolves with the value that `steps` returns, or rejects with the error that it throws. */
  run<T>(ownerId: string, steps: Iterator<void, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let resume: () => void;
      const work = (): boolean => {
        const began = this.#clock();
        try {
          do {
            const { done, value } = steps.next();
            if (done) {
              resume = () => resolve(value);
              return true;
            }
          } while (this.#clock() - began < turnMs);
          return false;
        } catch (error) {
          resume = () => reject(error);
          return true;
        }
      };
      this.#add(ownerId, { work, resume: () => resume() });
    });
  }

  #add(ownerId: string, job: SlicedWork): void {
    const jobs = this.#waiting.get(ownerId);
    if (jobs) jobs.push(job);
    else this.#waiting.set(ownerId, [job]);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    const [first] = this.#waiting;
    if (!first) {
      this.#isRunning = false;
      return;
    }
    const [ownerId, jobs] = first;
    const job = jobs[0] as SlicedWork;
    const began = this.#clock();
    const isDone = job.work();
    const tookMs = this.#clock() - began;
    if (isDone) jobs.shift();
    this.#waiting.delete(ownerId);
    if (jobs.length > 0) this.#waiting.set(ownerId, jobs);
    const isAlone =
      this.#waiting.size === 0 || (!isDone && this.#waiting.size === 1 && jobs.length === 1);
    setImmediate(() => {
      if (isDone) job.resume();
      // The next turn begins after a pause as long as this one took.
      if (isAlone) setImmediate(this.#next);
      else setTimeout(() => setImmediate(this.#next), tookMs);
    });
  };
}
