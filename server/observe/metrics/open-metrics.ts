/** Metrics: the counters of requests, the gauges of other parts, the endpoint, and the export over OTLP. */
import type { RequestHeaders } from "../../request/http-types.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import type { MetricsExport } from "../otlp/export-metrics.ts";
import { EventLoopLag } from "./event-loop-lag.ts";
import { type Gauge, processGauges, readGauge } from "./gauge.ts";
import { GenAiMetrics } from "./gen-ai-metrics.ts";
import { type MetricSnapshot, mergeMetrics } from "./metric-snapshot.ts";
import { type MetricsResponse, respondWithMetrics, serveMetrics } from "./metrics-endpoint.ts";
import { RequestMetrics } from "./request-metrics.ts";

interface MetricsOptions {
  readonly host: string;
  /** The port of the metrics alone. 0: none. */
  readonly port: number;
  /** Empty: metrics are not served on the gateway's own port. */
  readonly token: string;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Read at each collection. */
  readonly gauges: () => readonly Gauge[];
  /** Calls of the stores that replicas share. */
  readonly stores: { snapshot(): MetricSnapshot };
  /** Exports metrics over OTLP. Undefined if they are not exported. */
  readonly exporting: MetricsExport | undefined;
  /** The metrics of the other workers of this gateway. If absent, it has one process. */
  readonly others?: (() => Promise<readonly MetricSnapshot[]>) | undefined;
}

export interface Metrics {
  /** `endedAt`: after the ledger row was written. Milliseconds, monotonic. */
  observe(record: RequestRecord, endedAt: number): void;
  readonly requests: Pick<RequestMetrics, "observeOther" | "observeMicroBatch">;
  /** Responds to `GET /metrics` on the gateway's own port, with the metrics of all its workers. The default is 404. */
  readonly respond?: (headers: RequestHeaders) => Promise<MetricsResponse>;
  /** The values of this process, which can be merged with those of others (`mergeMetrics`). */
  snapshot(): readonly MetricSnapshot[];
  /** Listens on VEXEL_METRICS_PORT, if it is set. Throws if the port cannot be opened. */
  listen(): void;
}

/** Undefined if metrics are off, and cost nothing. */
export function openMetrics(options: MetricsOptions): Metrics | undefined {
  const { host, port, token, clock, resources, startedAt, gauges, others } = options;
  const { stores, exporting } = options;
  if (port === 0 && token === "" && !exporting) return undefined;
  const requests = new RequestMetrics();
  const lag = new EventLoopLag(clock);
  resources.defer(() => lag.close());
  const collect = (): readonly MetricSnapshot[] => [
    ...requests.snapshot(),
    stores.snapshot(),
    lag.snapshot(),
    ...[...gauges(), ...processGauges(startedAt)].map(readGauge),
  ];
  const collectAll = async () => mergeMetrics([collect(), ...(others ? [await others()] : [])]);
  const genAi = exporting && new GenAiMetrics();
  if (exporting && genAi) {
    exporting.start(() => [...collect(), ...genAi.snapshot()], startedAt);
    resources.defer(() => exporting.close());
  }
  return {
    observe: (record, endedAt) => {
      requests.observe(record, endedAt);
      genAi?.observe(record);
    },
    requests,
    ...(token !== "" && {
      respond: (headers) => respondWithMetrics(headers, { token, collect: collectAll }),
    }),
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
