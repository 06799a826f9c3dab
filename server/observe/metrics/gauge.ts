/** Gauges: values of the process, targets, queues, caches and the ledger, read when metrics are collected. */
import { readdirSync } from "node:fs";
import { otherLabel } from "./instruments.ts";
import type { MetricSnapshot, Series } from "./metric-snapshot.ts";

export interface Reading {
  readonly labels?: readonly string[];
  readonly value: number;
}

/** One metric that is read from another part of the gateway when metrics are collected. */
export interface Gauge extends Pick<MetricSnapshot, "name" | "help" | "merge"> {
  /** If absent, the metric is a gauge, which may go down. */
  readonly type?: "counter";
  readonly labelNames?: readonly string[];
  /** The default is `maxGaugeSeries`. */
  readonly maxSeries?: number;
  /** A single number, or one reading per label set. Undefined if there is no value now. */
  read(): number | readonly Reading[] | undefined;
}

/** Cardinality limit: the values of all further label sets are added up as `other`. */
export const maxGaugeSeries = 1000;

export function readGauge({
  name,
  help,
  type,
  merge,
  labelNames = [],
  maxSeries = maxGaugeSeries,
  read,
}: Gauge): MetricSnapshot {
  const value = read() ?? [];
  const readings = typeof value === "number" ? [{ value }] : value;
  const series = readings
    .slice(0, maxSeries)
    .map(({ labels = [], value }): Series => ({ labels, value }));
  if (readings.length > maxSeries) {
    series.push({
      labels: labelNames.map(() => otherLabel),
      value: readings.slice(maxSeries).reduce((sum, { value }) => sum + value, 0),
    });
  }
  return { name, help, type: type ?? "gauge", labelNames, ...(merge && { merge }), series };
}

/** The process, under the names that every Prometheus client library uses. `startedAt`: Unix milliseconds. */
export const processGauges = (startedAt: number): readonly Gauge[] => [
  {
    name: "process_cpu_seconds",
    help: "CPU time of the process.",
    type: "counter",
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000_000;
    },
  },
  {
    name: "process_resident_memory_bytes",
    help: "Memory of the process, without its child processes.",
    read: () => process.memoryUsage.rss(),
  },
  {
    name: "process_open_fds",
    help: "Open file descriptors. Absent where the operating system does not report it.",
    read: openDescriptors,
  },
  {
    name: "process_start_time_seconds",
    help: "When the process started, in Unix seconds.",
    merge: "min",
    read: () => startedAt / 1000,
  },
  {
    name: "vexel_heap_used_bytes",
    help: "Memory of JavaScript objects.",
    read: () => process.memoryUsage().heapUsed,
  },
];

function openDescriptors(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}
