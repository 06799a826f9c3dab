/** The values of all metrics at one moment. */

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
  readonly series: readonly Series[];
}
