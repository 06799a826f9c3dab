/**
 * Task queue of a worker pool: API keys take turns, so that the images of one key do not make another key wait. Large
 * tasks run one at a time, to bound memory. In a full queue, the key with the most queued tasks loses its newest.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { KeyTurns } from "../lib/key-turns.ts";
import { throwIfAborted } from "../lib/tasks.ts";

interface TaskQueueOptions {
  readonly maxRunning: number;
  /** Queued tasks of all keys together. */
  readonly maxWaiting: number;
  /** The worker's name in error messages. */
  readonly name: string;
}

interface QueuedWork {
  readonly signal: AbortSignal;
  readonly isLarge?: boolean;
  /** The API key that the task is run for. */
  readonly key?: string;
}

interface TaskQueue {
  run<T>(turn: QueuedWork, work: () => Promise<T>): Promise<T>;
}

interface QueuedTask {
  readonly key: string;
  readonly isLarge: boolean;
  readonly resume: () => void;
  readonly refuse: (error?: GatewayError) => void;
}

export function createTaskQueue({ maxRunning, maxWaiting, name }: TaskQueueOptions): TaskQueue {
  const queue = new KeyTurns<QueuedTask>();
  let running = 0;
  let isLargeRunning = false;

  const mayRun = ({ isLarge }: QueuedTask): boolean =>
    running < maxRunning && !(isLarge && isLargeRunning);

  const begin = (task: QueuedTask): void => {
    running += 1;
    if (task.isLarge) isLargeRunning = true;
    task.resume();
  };

  /** Starts every task that may run: after a large task, also the next large one, if a worker was already free. */
  const end = (ended: QueuedTask): void => {
    running -= 1;
    if (ended.isLarge) isLargeRunning = false;
    for (let task = queue.next(mayRun); task; task = queue.next(mayRun)) begin(task);
  };

  const add = (task: QueuedTask): void => {
    queue.add(task.key, task);
    if (queue.size <= maxWaiting) return;
    const newest = queue.newestOfLargest() ?? task;
    queue.remove(newest.key, newest);
    newest.refuse(
      new GatewayError("overloaded", `${name} has a full queue. Retry in a second.`, {
        retryAfterMs: 1000,
      }),
    );
  };

  const enter = async ({ signal, isLarge = false, key = "" }: QueuedWork): Promise<QueuedTask> => {
    throwIfAborted(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const task: QueuedTask = { key, isLarge, resume: resolve, refuse: reject };
    const onAbort = (): void => {
      if (queue.remove(key, task)) reject();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    // No queued task could run when the last task ended, so none is overtaken here.
    if (mayRun(task)) begin(task);
    else add(task);
    try {
      await promise;
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    return task;
  };

  return {
    async run(turn, work) {
      const task = await enter(turn);
      try {
        return await work();
      } finally {
        end(task);
      }
    },
  };
}
