/**
 * Cluster mode: runs several worker processes that share one port (`VEXEL_WORKERS`, SO_REUSEPORT): each is a replica
 * with a data folder of its own. A worker that exits is started again, with an exponential backoff. A signal to stop
 * drains all of them.
 */
import { join } from "node:path";
import { ownArguments } from "../lib/executable.ts";
import type { Log } from "../lib/log.ts";
import { withTimeout } from "../lib/timers.ts";
import type { Stop } from "./shutdown.ts";
import { type ListeningMessage, workerVariable } from "./worker-process.ts";

interface SuperviseOptions {
  /** The number of workers. */
  readonly count: number;
  readonly port: number;
  /** The port of the metrics of the first worker. 0: there are none. */
  readonly metricsPort: number;
  /** Each worker has a folder of its own in it. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stop: Stop;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** A worker that ran at least this long before it exited is started again at once. */
const steadyMs = 60_000;
const [firstDelayMs, longestDelayMs] = [500, 30_000];

/** Returns the exit code: 0 after a stop, or that of a worker whose first start failed. */
export async function superviseWorkers(options: SuperviseOptions): Promise<number> {
  const { count, port, stop } = options;
  const workers = Array.from({ length: count }, (_, at) => new Worker(at + 1, options));
  const [first, ...others] = workers;
  // The first worker starts alone: it may create the first API key, and it chooses the port if PORT is 0.
  const started = await first?.start(port);
  const starts = others.map((worker) => worker.start(started ?? port));
  const hasStartFailed =
    started === undefined || (await Promise.all(starts)).some((port) => port === undefined);
  if (!hasStartFailed || stop.isRequested) await stop.requested;
  // A second signal ends the drain of the workers, too.
  void stop.urgent.then(() => {
    for (const worker of workers) worker.signal();
  });
  const codes = await Promise.all(workers.map((worker) => worker.end()));
  return hasStartFailed ? (codes.find((code) => code !== 0) ?? 1) : 0;
}

class Worker {
  readonly #number: number;
  readonly #options: SuperviseOptions;
  readonly #stopping = Promise.withResolvers<void>();
  #process: Bun.Subprocess | undefined;
  #running: Promise<number> = Promise.resolve(0);
  #isStopping = false;

  constructor(number: number, options: SuperviseOptions) {
    this.#number = number;
    this.#options = options;
  }

  /** Resolves with the port when the worker listens, or with undefined if it exits before. */
  start(port: number): Promise<number | undefined> {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    this.#running = this.#run(port, resolve);
    void this.#running.then(() => resolve(undefined));
    return promise;
  }

  signal(): void {
    this.#process?.kill("SIGTERM");
  }

  /** Drains the worker. Resolves with its exit code. */
  end(): Promise<number> {
    this.#isStopping = true;
    this.#stopping.resolve();
    this.signal();
    return this.#running;
  }

  async #run(port: number, onListening: (port: number) => void): Promise<number> {
    const { log, clock, stop } = this.#options;
    let hasListened = false;
    for (let exits = 0; ; ) {
      const startedAt = clock();
      this.#process = this.#spawn(port, (listeningPort) => {
        hasListened = true;
        onListening(listeningPort);
      });
      const code = await this.#process.exited;
      // The configuration or the port is refused: another start would end in the same way.
      if (this.#isStopping || stop.isRequested || !hasListened) return code;
      exits = clock() - startedAt < steadyMs ? exits + 1 : 0;
      const delayMs = exits === 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (exits - 1));
      log.error("worker-exited", { worker: this.#number, code, delayMs });
      await withTimeout(this.#stopping.promise, delayMs);
      if (this.#isStopping) return code;
    }
  }

  #spawn(port: number, onListening: (port: number) => void): Bun.Subprocess {
    const { folder, metricsPort, env } = this.#options;
    return Bun.spawn([process.execPath, ...ownArguments()], {
      env: {
        ...env,
        PORT: String(port),
        VEXEL_DATA: join(folder, `worker-${this.#number}`),
        ...(metricsPort > 0 && { VEXEL_METRICS_PORT: String(metricsPort + this.#number - 1) }),
        [workerVariable]: String(this.#number),
        // A worker stops when its supervisor is gone, and is started again by it after a crash.
        VEXEL_WRAPPER: String(process.pid),
      },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      ipc: (message: ListeningMessage) => onListening(message.port),
    });
  }
}
