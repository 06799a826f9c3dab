/**
 * A worker process of `VEXEL_WORKERS`: the channel to its supervisor, which collects the reports of the other workers
 * for it, and the check whether workers can run a configuration.
 */
import type { LiveBatch } from "../../contract/admin.ts";
import type { ProcessReport } from "../admin/reads/replica-reports.ts";
import type { RequestFilter } from "../admin/reads/request-filter.ts";
import type { Model, Snapshot } from "../config/snapshot.ts";
import { type CallMessage, MessageCalls } from "../lib/message-calls.ts";
import type { MetricSnapshot } from "../observe/metrics/metric-snapshot.ts";

/** Set by the supervisor: the number of the worker. */
export const workerVariable = "VEXEL_WORKER";

/** A message from a worker to its supervisor. */
export type WorkerMessage = CallMessage | { readonly kind: "listening"; readonly port: number };

/** The reports of one worker about itself. */
export interface WorkerReports {
  /** Undefined if metrics are off. */
  metrics(): readonly MetricSnapshot[] | undefined;
  /** Its load, its health and that of its targets, for the console. */
  process(): ProcessReport;
  /** Requests that have ended since the last call with this filter. */
  liveRequests(filter: RequestFilter): LiveBatch;
}

/** The reports of the other workers. A worker that does not respond within a second is left out. */
export interface OtherWorkers {
  /** Merged, and with the counters of workers that have exited. */
  metrics(): Promise<readonly MetricSnapshot[]>;
  processes(): Promise<readonly ProcessReport[]>;
  liveRequests(filter: RequestFilter): Promise<readonly LiveBatch[]>;
}

export function openWorkerChannel() {
  const send = (message: WorkerMessage): void => void process.send?.(message);
  let own: WorkerReports | undefined;
  const calls = new MessageCalls({
    send,
    serve: (name, input) => own?.[name as keyof WorkerReports](input as RequestFilter),
    timeoutMs: 2000,
  });
  process.on("message", (message: CallMessage) => void calls.receive(message));
  const requestReports = async <T>(
    name: keyof WorkerReports,
    input?: unknown,
  ): Promise<readonly T[]> => ((await calls.call(name, input)) ?? []) as readonly T[];
  const others: OtherWorkers = {
    metrics: () => requestReports<MetricSnapshot>("metrics"),
    processes: () => requestReports<ProcessReport>("process"),
    liveRequests: (filter) => requestReports<LiveBatch>("liveRequests", filter),
  };
  return {
    others,
    /** Reports that this worker listens at `url`. From now on the supervisor may request its reports. */
    open: (url: string, reports: WorkerReports): void => {
      own = reports;
      send({ kind: "listening", port: Number(new URL(url).port) });
    },
  };
}

/** Its requests may be billed, so a repeated Idempotency-Key must be recognized by every worker. */
const isNotBuiltInImageModel = ({ kind, source }: Model): boolean =>
  kind === "image" && source !== "built-in";

/** Why workers cannot run this configuration without Redis. Undefined if they can. */
export function workersWithoutRedisProblem(snapshot: Snapshot): string | undefined {
  const needed = [
    ...((snapshot.limits?.size ?? 0) > 0 ? ["rate limits"] : []),
    ...(snapshot.keys.values().some(({ budgets }) => budgets !== undefined) ? ["budgets"] : []),
    ...(snapshot.models.values().some(isNotBuiltInImageModel)
      ? ["image models other than the built-in ones"]
      : []),
  ];
  return needed.length === 0
    ? undefined
    : `VEXEL_WORKERS is greater than 1, and ${needed.join(", ")} are configured, whose counts or Idempotency-Keys workers must share: set REDIS_URL, or VEXEL_WORKERS=1.`;
}
