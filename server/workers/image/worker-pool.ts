/**
 * Worker pool: a few child processes, each with one image at a time. So a decoder crash fails one task only, and a
 * canceled task is stopped by ending its process, which is the only way.
 */

import { join } from "node:path";
import { sourceFolder } from "../../lib/executable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { WorkerProcess, type WorkerProcessOptions } from "../process/worker-process.ts";
import { createTaskQueue } from "../task-queue.ts";
import type { ImageWorkerRequest, ImageWorkerResponsePart, ImageWorkerSpec } from "./messages.ts";

interface WorkerPoolOptions
  extends ImageWorkerSpec,
    Pick<WorkerProcessOptions<ImageWorkerSpec>, "idleMs" | "spawn"> {
  /** Maximum number of concurrent tasks. */
  readonly maxRunning: number;
  /** Queued tasks of all keys together. */
  readonly maxWaiting: number;
  /** How long a task may run. */
  readonly taskMs: number;
}

/** `timeoutFor`: the remaining timeout of the task, once the process has reported the number of pixels. */
export type SendToChild = (
  request: ImageWorkerRequest,
  timeoutFor: (pixels: number) => number,
) => Promise<readonly ImageWorkerResponsePart[]>;

interface PoolTask<T> {
  readonly signal: AbortSignal;
  /** The API key that the task is run for. */
  readonly key: string;
  /** Large tasks run one at a time. */
  readonly isLarge: boolean;
  /** Creates the error for a task that exceeds its timeout. */
  readonly timeoutError: (boundMs: number) => GatewayError;
  /** Called when a worker is idle. */
  readonly work: (send: SendToChild) => Promise<T>;
}

/**
 * glibc gives each thread of libvips, the image library, a malloc arena, and no arena returns its memory: 16 MB for an
 * image of 50 MB. With one working thread, one arena is as fast. glibc raises its trim threshold over time, unless one
 * is set.
 */
const environment = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

interface WorkerPool {
  run<T>(task: PoolTask<T>): Promise<T>;
  close(): Promise<void>;
}

const name = "The image worker";
const entry = join(sourceFolder, "server/workers/image/child/main.ts");

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { maxPixels, idleMs, spawn, taskMs, maxRunning, maxWaiting } = options;
  const queue = createTaskQueue({ maxRunning, maxWaiting, name });
  const workers = Array.from(
    { length: maxRunning },
    () =>
      new WorkerProcess<ImageWorkerSpec, ImageWorkerRequest, ImageWorkerResponsePart>({
        name,
        entry,
        spec: () => ({ maxPixels }),
        environment,
        ...(idleMs !== undefined && { idleMs }),
        ...(spawn && { spawn }),
        maxWeight: 1,
        // The child cannot stop decoding an image.
        killOnAbort: true,
      }),
  );
  // The most recently used process is taken first, so that the others can stop when idle.
  const idle = [...workers];

  const run = async <T>({ signal, timeoutError, work }: PoolTask<T>): Promise<T> => {
    const worker = idle.pop();
    if (!worker) throw new Error("More tasks run than the pool has processes.");
    const cancel = new AbortController();
    const onAbort = () => cancel.abort(signal.reason);
    const endAfter = (ms: number) => setTimeout(() => cancel.abort(timeoutError(ms)), ms);
    let timer = endAfter(taskMs);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await work(async (request, timeoutFor) => {
        const parts: ImageWorkerResponsePart[] = [];
        const onPart = (part: ImageWorkerResponsePart): void => {
          if (part.kind !== "opened") {
            parts.push(part);
          } else {
            clearTimeout(timer);
            timer = endAfter(Math.min(taskMs, timeoutFor(part.pixels)));
          }
        };
        await worker
          .send({ request, weight: 1, signal: cancel.signal, onPart })
          .catch(toOverloaded);
        return parts;
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      idle.push(worker);
    }
  };

  return {
    run: (task) => queue.run(task, () => run(task)),
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

/** The kinds of error of a process that has crashed or cannot load the image library. */
const processErrors: ReadonlySet<string> = new Set(["upstream_unreachable", "upstream_error"]);

/** A crash of this process is not an upstream error: another upstream would use the same kind of process. */
function toOverloaded(error: unknown): never {
  if (!(error instanceof GatewayError) || !processErrors.has(error.kind)) throw error;
  const { logDetail = error.message, overrides } = error.details;
  // The process can never be started.
  if (overrides?.clientShouldNotRetry) {
    const permanent = { status: 500, type: "server_error", code: null, retry: "never" } as const;
    throw new GatewayError("overloaded", error.message, {
      logDetail,
      cause: error,
      overrides: permanent,
    });
  }
  throw new GatewayError(
    "overloaded",
    "The image worker process ended before it had processed the image. Please try again.",
    { retryAfterMs: 1000, logDetail, cause: error },
  );
}
