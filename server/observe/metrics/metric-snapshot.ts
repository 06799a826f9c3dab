/**
 * The values of all metrics of one process at one moment, as plain JSON: a worker sends them to its parent, which
 * serves the merged metrics.
 */

export interface Series {
  /** The values of the labels, in the order of their names. */
  readonly labels: readonly string[];
  /** The sum of all observations, for a histogram. */
  readonly value: number;
  /** The observations of each bucket, not cumulative; the last one has no upper bound. */
  readonly buckets?: readonly number[];
}

export interface MetricSnapshot {
  /** Without the suffix `_total` of a counter. */
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labelNames: readonly string[];
  /** The upper bounds of the buckets of a histogram. */
  readonly bounds?: readonly number[];
  /** How the values of several processes are merged. If absent, their sum. */
  readonly merge?: "max" | "min";
  readonly series: readonly Series[];
}

/** Merges the metrics of several processes. The order of the first process is kept. */
export function mergeMetrics(
  processes: readonly (readonly MetricSnapshot[])[],
): readonly MetricSnapshot[] {
  const byName = new Map<string, MetricSnapshot>();
  for (const metric of processes.flat()) {
    const first = byName.get(metric.name);
    byName.set(metric.name, first ? mergeMetric(first, metric) : metric);
  }
  return [...byName.values()];
}

/** The metrics of a process that are kept after it exits: a gauge has no value then. */
export const countersOf = (metrics: readonly MetricSnapshot[]): readonly MetricSnapshot[] =>
  metrics.filter(({ type }) => type !== "gauge");

function mergeMetric(first: MetricSnapshot, second: MetricSnapshot): MetricSnapshot {
  const byLabels = new Map<string, Series>();
  for (const series of [...first.series, ...second.series]) {
    const key = JSON.stringify(series.labels);
    const earlier = byLabels.get(key);
    byLabels.set(key, earlier ? mergeSeries(earlier, series, first.merge) : series);
  }
  return { ...first, series: [...byLabels.values()] };
}

function mergeSeries(a: Series, b: Series, merge: MetricSnapshot["merge"]): Series {
  const value = merge ? Math[merge](a.value, b.value) : a.value + b.value;
  if (!a.buckets || !b.buckets) return { labels: a.labels, value };
  return {
    labels: a.labels,
    value,
    buckets: a.buckets.map((count, index) => count + (b.buckets?.[index] ?? 0)),
  };
}
