/** A worker process of `VEXEL_WORKERS`: its reports to the supervisor, and the configuration that it refuses. */
import type { Model, Snapshot } from "../config/snapshot.ts";
import type { MetricSnapshot } from "../observe/metrics/metric-snapshot.ts";
import type { WorkerMessage } from "./supervise-workers.ts";

/** Set by the supervisor: the number of the worker. */
export const workerVariable = "VEXEL_WORKER";

const metricsEveryMs = 1000;

/** Reports the port, and the metrics at an interval. Returns the function that ends the reports. */
export function reportToSupervisor(
  url: string,
  metrics: () => readonly MetricSnapshot[] | undefined,
): () => void {
  const send = (message: WorkerMessage): void => void process.send?.(message);
  send({ kind: "listening", port: Number(new URL(url).port) });
  const timer = setInterval(() => {
    const values = metrics();
    if (values) send({ kind: "metrics", metrics: values });
  }, metricsEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

const isPaidImageModel = ({ kind, source }: Model): boolean =>
  kind === "image" && source !== "embedded";

/** Why workers cannot run this configuration without Redis. Undefined: they can. */
export function workersWithoutRedisProblem(snapshot: Snapshot): string | undefined {
  const needed = [
    ...((snapshot.limits?.size ?? 0) > 0 ? ["rate limits"] : []),
    ...(snapshot.keys.values().some(({ budgets }) => budgets !== undefined) ? ["budgets"] : []),
    ...(snapshot.models.values().some(isPaidImageModel)
      ? ["image models with idempotent requests"]
      : []),
  ];
  return needed.length === 0
    ? undefined
    : `VEXEL_WORKERS is greater than 1, and ${needed.join(", ")} are configured, which workers must share: set REDIS_URL, or VEXEL_WORKERS=1.`;
}
