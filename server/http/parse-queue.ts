/**
 * Fair queue of large JSON bodies: they are parsed one at a time, each in its own turn of the event loop, round robin
 * among API keys. Many that are complete at the same time would otherwise be parsed in one turn, and delay every other
 * client for seconds. While bodies are waiting, parsing takes at most half of the time.
 */

interface Job {
  /** Never throws. */
  parse(): void;
  /** Settles the promise, in a turn after that of the parsing. */
  resume(): void;
}

export class ParseQueue {
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By API key, in the order of their next turn. */
  readonly #waiting = new Map<string, Job[]>();
  #isRunning = false;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Resolves or rejects with what `parse` returned or threw. */
  run<T>(keyId: string, parse: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let resume: () => void;
      this.#add(keyId, {
        parse: () => {
          try {
            const value = parse();
            resume = () => resolve(value);
          } catch (error) {
            resume = () => reject(error);
          }
        },
        resume: () => resume(),
      });
    });
  }

  #add(keyId: string, job: Job): void {
    const jobs = this.#waiting.get(keyId);
    if (jobs) jobs.push(job);
    else this.#waiting.set(keyId, [job]);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    const job = this.#shift();
    if (!job) {
      this.#isRunning = false;
      return;
    }
    const began = this.#clock();
    job.parse();
    const tookMs = this.#clock() - began;
    setImmediate(() => {
      job.resume();
      // The next body gets its own turn as well, after a pause as long as this one took.
      if (this.#waiting.size > 0) setTimeout(() => setImmediate(this.#next), tookMs);
      else setImmediate(this.#next);
    });
  };

  #shift(): Job | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [keyId, jobs] = first;
    const job = jobs.shift();
    this.#waiting.delete(keyId);
    if (jobs.length > 0) this.#waiting.set(keyId, jobs);
    return job;
  }
}
