/**
 * Job queue of a worker pool: API keys take turns, so that the images of one key do not make another key wait. Large
 * jobs run one at a time, to bound memory. In a full queue, the key with the most queued jobs loses its newest.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { KeyTurns } from "../lib/key-turns.ts";
import { throwIfAborted } from "../lib/tasks.ts";

interface JobQueueOptions {
  readonly maxRunning: number;
  /** Queued jobs of all keys together. */
  readonly maxWaiting: number;
  /** The worker's name in error messages. */
  readonly name: string;
}

interface QueuedWork {
  readonly signal: AbortSignal;
  readonly isLarge?: boolean;
  /** The API key that the job is run for. */
  readonly key?: string;
}

interface JobQueue {
  run<T>(turn: QueuedWork, work: () => Promise<T>): Promise<T>;
}

interface QueuedJob {
  readonly key: string;
  readonly isLarge: boolean;
  readonly resume: () => void;
  readonly refuse: (error?: GatewayError) => void;
}

export function createJobQueue({ maxRunning, maxWaiting, name }: JobQueueOptions): JobQueue {
  const queue = new KeyTurns<QueuedJob>();
  let running = 0;
  let isLargeRunning = false;

  const mayRun = ({ isLarge }: QueuedJob): boolean =>
    running < maxRunning && !(isLarge && isLargeRunning);

  const begin = (job: QueuedJob): void => {
    running += 1;
    if (job.isLarge) isLargeRunning = true;
    job.resume();
  };

  /** Starts every job that may run: after a large job, also the next large one, if a worker was already free. */
  const end = (ended: QueuedJob): void => {
    running -= 1;
    if (ended.isLarge) isLargeRunning = false;
    for (let job = queue.next(mayRun); job; job = queue.next(mayRun)) begin(job);
  };

  const add = (job: QueuedJob): void => {
    queue.add(job.key, job);
    if (queue.size <= maxWaiting) return;
    const newest = queue.newestOfLargest() ?? job;
    queue.remove(newest.key, newest);
    newest.refuse(
      new GatewayError("overloaded", `${name} has a full queue. Retry in a second.`, {
        retryAfterMs: 1000,
      }),
    );
  };

  const enter = async ({ signal, isLarge = false, key = "" }: QueuedWork): Promise<QueuedJob> => {
    throwIfAborted(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const job: QueuedJob = { key, isLarge, resume: resolve, refuse: reject };
    const onAbort = (): void => {
      if (queue.remove(key, job)) reject();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    // No queued job could run when the last job ended, so none is overtaken here.
    if (mayRun(job)) begin(job);
    else add(job);
    try {
      await promise;
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    return job;
  };

  return {
    async run(turn, work) {
      const job = await enter(turn);
      try {
        return await work();
      } finally {
        end(job);
      }
    },
  };
}
