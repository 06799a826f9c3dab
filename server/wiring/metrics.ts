/** Wires metrics: the counters of requests, the gauges of other parts, and the endpoint. */
import { unknownUrl } from "../http/dispatch.ts";
import type { Handler } from "../http/route.ts";
import { EventLoopLag } from "../observe/metrics/event-loop-lag.ts";
import { type Gauge, processGauges, readGauge } from "../observe/metrics/gateway-gauges.ts";
import { type MetricSnapshot, mergeMetrics } from "../observe/metrics/metric-snapshot.ts";
import { respondWithMetrics, serveMetrics } from "../observe/metrics/metrics-endpoint.ts";
import { RequestMetrics } from "../observe/metrics/request-metrics.ts";
import type { Runtime } from "./runtime.ts";

export interface MetricsWiringOptions {
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Read at each collection. */
  readonly gauges: () => readonly Gauge[];
  /** The metrics of the other workers of this gateway. Absent: it has one process. */
  readonly others?: (() => Promise<readonly MetricSnapshot[]>) | undefined;
}

export interface MetricsWiring {
  readonly requests: RequestMetrics;
  /** `GET /metrics` on the gateway's own port: the metrics of all its workers. */
  readonly handler: Handler;
  /** The values of this process, which can be merged with those of others (`mergeMetrics`). */
  snapshot(): readonly MetricSnapshot[];
  /** Listens on VEXEL_METRICS_PORT, if it is set. Throws if the port cannot be opened. */
  listen(): void;
}

/** The handler of `GET /metrics` if no token is configured or metrics are off: 404. */
export const noMetrics: Handler = async ({ method, path }) => {
  throw unknownUrl(method, path);
};

/** Undefined: metrics are off, and cost nothing. */
export function wireMetrics(
  { settings, clock, resources }: Runtime,
  { startedAt, gauges, others }: MetricsWiringOptions,
): MetricsWiring | undefined {
  const { VEXEL_METRICS_PORT: port, VEXEL_METRICS_TOKEN: token, HOST: host } = settings;
  if (port === 0 && token === "") return undefined;
  const requests = new RequestMetrics();
  const lag = new EventLoopLag(clock);
  resources.defer(() => lag.close());
  const collect = (): readonly MetricSnapshot[] => [
    ...requests.snapshot(),
    lag.snapshot(),
    ...[...gauges(), ...processGauges(startedAt)].map(readGauge),
  ];
  const collectAll = async () => mergeMetrics([collect(), ...(others ? [await others()] : [])]);
  return {
    requests,
    handler:
      token === ""
        ? noMetrics
        : ({ headers }) => respondWithMetrics(headers, { token, collect: collectAll }),
    snapshot: collect,
    listen: () => {
      if (port === 0) return;
      try {
        const server = serveMetrics({ host, port }, { token, collect: async () => collect() });
        resources.defer(server.close);
      } catch (cause) {
        // The listener's own error would be reported as a problem of PORT.
        throw new Error(`VEXEL_METRICS_PORT=${port} on ${host} cannot be used.`, { cause });
      }
    },
  };
}
