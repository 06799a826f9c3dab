/**
 * Cluster mode: runs several worker processes that share one port (`VEXEL_WORKERS`, SO_REUSEPORT): each is a replica
 * with a data folder of its own. A worker that exits is started again, with an exponential backoff. A signal to stop
 * drains all of them.
 */
import { join } from "node:path";
import { ownArguments } from "../lib/executable.ts";
import type { Log } from "../lib/log.ts";
import { type CallMessage, MessageCalls } from "../lib/message-calls.ts";
import { withTimeout } from "../lib/timers.ts";
import {
  countersOf,
  type MetricSnapshot,
  mergeMetrics,
} from "../observe/metrics/metric-snapshot.ts";
import { serveMetrics } from "../observe/metrics/metrics-endpoint.ts";
import type { Stop } from "./shutdown.ts";
import { type WorkerMessage, workerVariable } from "./worker-process.ts";

interface SuperviseOptions {
  /** The number of workers. */
  readonly count: number;
  readonly port: number;
  /** Each worker has a folder of its own in it. */
  readonly folder: string;
  /** The endpoint of the metrics. */
  readonly metrics: MetricsEndpoint | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stop: Stop;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

interface MetricsEndpoint {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

/** A worker that ran at least this long before it exited is started again at once. */
const steadyMs = 60_000;
const [firstDelayMs, longestDelayMs] = [500, 30_000];

/** Returns the exit code: 0 after a stop, or that of a worker whose first start failed. */
export async function superviseWorkers(options: SuperviseOptions): Promise<number> {
  const { count, port, stop } = options;
  const workers: readonly Worker[] = Array.from(
    { length: count },
    (_, at) => new Worker(at + 1, { ...options, serveCall: (...call) => reportOthers(...call) }),
  );
  /** The reports of all workers except the requester. */
  const reportOthers = async (
    requester: Worker,
    name: string,
    input: unknown,
  ): Promise<unknown> => {
    const others = workers.filter((worker) => worker !== requester);
    if (name === "metrics")
      return mergeMetrics([
        requester.earlierCounters,
        ...(await Promise.all(others.map((worker) => worker.metrics()))),
      ]);
    const values = await Promise.all(others.map((worker) => worker.call(name, input)));
    return values.filter((value) => value !== undefined);
  };
  const [first, ...others] = workers;
  // The first worker starts alone: it may create the first API key, and it chooses the port if PORT is 0.
  const started = await first?.start(port);
  const metrics =
    started === undefined ? undefined : options.metrics && serveMerged(options.metrics, workers);
  const starts = others.map((worker) => worker.start(started ?? port));
  const hasStartFailed =
    started === undefined || (await Promise.all(starts)).some((port) => port === undefined);
  if (!hasStartFailed || stop.isRequested) await stop.requested;
  // A second signal ends the drain of the workers, too.
  void stop.urgent.then(() => {
    for (const worker of workers) worker.signal();
  });
  const codes = await Promise.all(workers.map((worker) => worker.end()));
  await metrics?.close();
  return hasStartFailed ? (codes.find((code) => code !== 0) ?? 1) : 0;
}

/** One endpoint for the metrics of all workers: on a shared port, each request would reach a different worker. */
function serveMerged({ host, port, token }: MetricsEndpoint, workers: readonly Worker[]) {
  const collect = async () =>
    mergeMetrics(await Promise.all(workers.map((worker) => worker.metrics())));
  return serveMetrics({ host, port }, { token, collect });
}

interface WorkerOptions extends SuperviseOptions {
  /** Serves the calls of a worker. */
  readonly serveCall: (requester: Worker, name: string, input: unknown) => Promise<unknown>;
}

class Worker {
  readonly #number: number;
  readonly #options: WorkerOptions;
  readonly #stopping = Promise.withResolvers<void>();
  #process: Bun.Subprocess | undefined;
  #running: Promise<number> = Promise.resolve(0);
  #isStopping = false;
  /** Undefined if the worker does not run. */
  #calls: MessageCalls | undefined;
  #latest: readonly MetricSnapshot[] = [];
  /** The counters of its processes that have exited: the sum must never decrease. */
  earlierCounters: readonly MetricSnapshot[] = [];

  constructor(number: number, options: WorkerOptions) {
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

  /** Undefined if there is no reply within a second. */
  async call(name: string, input?: unknown): Promise<unknown> {
    return this.#calls?.call(name, input);
  }

  /** The metrics of all its processes. If the worker does not reply, the metrics of its last reply. */
  async metrics(): Promise<readonly MetricSnapshot[]> {
    const values = (await this.call("metrics")) as readonly MetricSnapshot[] | undefined;
    if (values) this.#latest = values;
    return mergeMetrics([this.earlierCounters, this.#latest]);
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
      this.#calls?.close();
      this.#calls = undefined;
      this.earlierCounters = mergeMetrics([this.earlierCounters, countersOf(this.#latest)]);
      this.#latest = [];
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
    const { folder, env, serveCall } = this.#options;
    const child = Bun.spawn([process.execPath, ...ownArguments()], {
      env: {
        ...env,
        PORT: String(port),
        VEXEL_DATA: join(folder, `worker-${this.#number}`),
        [workerVariable]: String(this.#number),
        // A worker stops when its supervisor is gone, and is started again by it after a crash.
        VEXEL_WRAPPER: String(process.pid),
      },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      ipc: (message: WorkerMessage) => {
        if (message.kind === "listening") {
          this.#calls = calls;
          onListening(message.port);
        } else void calls.receive(message);
      },
    });
    const calls = new MessageCalls({
      // Nothing can be sent to a worker that has just exited.
      send: (message: CallMessage) => {
        if (child.exitCode === null && child.signalCode === null) child.send(message);
      },
      serve: (name, input) => serveCall(this, name, input),
      timeoutMs: 1000,
    });
    return child;
  }
}
