/**
 * Exports metrics over OTLP/HTTP every minute: those of `GET /metrics`, and those of the GenAI conventions. Loaded
 * only if a collector is configured. A collector that is slow or unreachable misses values, and gets the sums later.
 */
import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import {
  JsonMetricsSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from "@opentelemetry/otlp-transformer";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
} from "@opentelemetry/sdk-metrics";
import type { Log } from "../../lib/log.ts";
import { withTimeout } from "../../lib/timers.ts";
import type { MetricSnapshot, Series } from "../metrics/metric-snapshot.ts";
import { reportExports } from "./report-exports.ts";
import { telemetryOrigin } from "./resource.ts";

interface MetricsExportOptions {
  /** The base URL of the collector. */
  readonly endpoint: string;
  readonly protocol: "http/protobuf" | "http/json";
  readonly version: string;
  readonly replica: string;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface MetricsExport {
  /** Exports what `collect` returns, every minute. `startedAt`: Unix milliseconds. */
  start(collect: () => readonly MetricSnapshot[], startedAt: number): void;
  /** Exports the last values, within a bounded time. */
  close(): Promise<void>;
}

const exportEveryMs = 60_000;
const exportTimeoutMs = 10_000;
const closeTimeoutMs = 2000;

export function openMetricsExport(options: MetricsExportOptions): MetricsExport {
  const { endpoint, protocol, version, replica, log, now } = options;
  const isJson = protocol === "http/json";
  const url = `${endpoint.replace(/\/+$/, "")}/v1/metrics`;
  const delegate = createOtlpHttpExportDelegate(
    convertLegacyHttpOptions({ url, timeoutMillis: exportTimeoutMs }, "METRICS", "v1/metrics", {
      "Content-Type": isJson ? "application/json" : "application/x-protobuf",
    }),
    isJson ? JsonMetricsSerializer : ProtobufMetricsSerializer,
    "otlp_http_metric_exporter",
    MetricsExporterMetricsHelper,
    undefined,
  );
  const { resource, instrumentationScope: scope } = telemetryOrigin(version, replica);
  const report = reportExports({
    onFailed: (reason) => log.warn("metrics-not-exported", { reason }),
    onRecovered: () => log.warn("metrics-recovered"),
  });
  let timer: ReturnType<typeof setInterval> | undefined;
  let send = (): Promise<void> => Promise.resolve();
  return {
    start: (collect, startedAt) => {
      send = () => {
        const times = { startTime: hrTime(startedAt), endTime: hrTime(now()) };
        const metrics = collect().map((metric) => metricData(metric, times));
        const { promise, resolve } = Promise.withResolvers<void>();
        delegate.export({ resource, scopeMetrics: [{ scope, metrics }] }, ({ code, error }) => {
          report(code === ExportResultCode.SUCCESS, error);
          resolve();
        });
        return promise;
      };
      timer = setInterval(() => void send(), exportEveryMs);
    },
    close: async () => {
      clearInterval(timer);
      await withTimeout(
        Promise.allSettled([send().then(() => delegate.shutdown())]),
        closeTimeoutMs,
      );
    },
  };
}

type Times = Pick<DataPoint<number>, "startTime" | "endTime">;

function metricData(metric: MetricSnapshot, times: Times): MetricData {
  const { name, help, type, bounds = [] } = metric;
  const common = {
    descriptor: {
      name,
      description: help,
      unit: unitOf(name),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = <T>(read: (series: Series) => T): DataPoint<T>[] =>
    metric.series.map((series) => ({
      ...times,
      attributes: attributesOf(metric, series),
      value: read(series),
    }));
  if (type === "histogram") {
    return {
      ...common,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: points(({ value: sum, buckets: counts = [] }) => ({
        sum,
        count: counts.reduce((total, each) => total + each, 0),
        buckets: { boundaries: [...bounds], counts: [...counts] },
      })),
    };
  }
  const dataPoints = points(({ value }) => value);
  return type === "counter"
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** An empty label is absent. */
function attributesOf({ labelNames }: MetricSnapshot, { labels }: Series): Attributes {
  const attributes: Attributes = {};
  labelNames.forEach((name, index) => {
    if (labels[index]) attributes[name] = labels[index];
  });
  return attributes;
}

function unitOf(name: string): string {
  if (/(_seconds|\.duration)$/.test(name)) return "s";
  if (name.endsWith("_bytes")) return "By";
  return name.endsWith("token.usage") ? "{token}" : "";
}

/** Seconds and nanoseconds. */
const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
