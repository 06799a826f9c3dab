/**
 * Counters and histograms of the request path. Each has a maximum number of label sets, and counts all further label
 * sets as `other`. An observation takes at most 0.2 µs. With prom-client, the usual library, it takes 0.2 to 1.1 µs,
 * and the observations of a cached request would take a tenth of its CPU time (decision 49).
 */
import type { MetricSnapshot, Series } from "./metric-snapshot.ts";

export interface InstrumentOptions {
  /** Without the suffix `_total` of a counter. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** The maximum number of label sets. */
  readonly maxSeries?: number;
}

/** The label value of the one series that counts all label sets beyond the maximum. */
export const otherLabel = "other";

/** A tree of label values. Its leaves hold the series, so that finding one allocates nothing. */
type Branch<T> = Map<string, Branch<T> | T>;

class SeriesByLabels<T> {
  readonly all: T[] = [];
  readonly #root: Branch<T> = new Map();
  readonly #create: (labels: readonly string[]) => T;
  readonly #depth: number;
  readonly #max: number;
  #other: T | undefined;

  constructor(depth: number, max: number, create: (labels: readonly string[]) => T) {
    this.#depth = depth;
    this.#max = max;
    this.#create = create;
  }

  find(labels: readonly string[]): T {
    if (this.#depth === 0) return this.all[0] ?? this.#add(labels);
    let found: Branch<T> | T | undefined = this.#root;
    for (const label of labels) {
      found = (found as Branch<T>).get(label);
      if (found === undefined) return this.#add(labels);
    }
    return found as T;
  }

  #add(labels: readonly string[]): T {
    if (this.all.length >= this.#max) return this.#otherSeries();
    const series = this.#create(labels);
    this.all.push(series);
    let branch = this.#root;
    labels.forEach((label, index) => {
      if (index === this.#depth - 1) {
        branch.set(label, series);
        return;
      }
      const next = (branch.get(label) as Branch<T> | undefined) ?? new Map();
      branch.set(label, next);
      branch = next;
    });
    return series;
  }

  #otherSeries(): T {
    if (this.#other === undefined) {
      this.#other = this.#create(new Array<string>(this.#depth).fill(otherLabel));
      this.all.push(this.#other);
    }
    return this.#other;
  }
}

export class CounterSeries {
  readonly labels: readonly string[];
  value = 0;

  constructor(labels: readonly string[]) {
    this.labels = labels;
  }

  add(amount: number): void {
    this.value += amount;
  }
}

/** A histogram has many values for each label set, so it may have fewer of them. */
const [maxCounterSeries, maxHistogramSeries] = [1000, 250];

export class Counter {
  readonly #options: InstrumentOptions;
  readonly #series: SeriesByLabels<CounterSeries>;

  constructor(options: InstrumentOptions) {
    this.#options = options;
    const { labelNames, maxSeries = maxCounterSeries } = options;
    this.#series = new SeriesByLabels(
      labelNames.length,
      maxSeries,
      (labels) => new CounterSeries(labels),
    );
  }

  /** The series of these labels, for code that counts often. */
  series(...labels: readonly string[]): CounterSeries {
    return this.#series.find(labels);
  }

  add(amount: number, ...labels: readonly string[]): void {
    this.#series.find(labels).add(amount);
  }

  snapshot(): MetricSnapshot {
    const { name, help, labelNames } = this.#options;
    const series = this.#series.all.map(({ labels, value }) => ({ labels, value }));
    return { name, help, type: "counter", labelNames, series };
  }
}

export interface HistogramOptions extends InstrumentOptions {
  /** The upper bounds of the buckets, ascending, without infinity. */
  readonly bounds: readonly number[];
}

export class HistogramSeries {
  readonly labels: readonly string[];
  readonly #bounds: readonly number[];
  /** Per bucket, not cumulative; the last one has no bound. */
  readonly buckets: number[];
  sum = 0;

  constructor(labels: readonly string[], bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.buckets = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (this.buckets[bucket] as number)++;
    this.sum += value;
  }
}

export class Histogram {
  readonly #options: HistogramOptions;
  readonly #series: SeriesByLabels<HistogramSeries>;

  constructor(options: HistogramOptions) {
    this.#options = options;
    const { labelNames, bounds, maxSeries = maxHistogramSeries } = options;
    this.#series = new SeriesByLabels(
      labelNames.length,
      maxSeries,
      (labels) => new HistogramSeries(labels, bounds),
    );
  }

  /** The series of these labels. */
  series(...labels: readonly string[]): HistogramSeries {
    return this.#series.find(labels);
  }

  snapshot(): MetricSnapshot {
    const { name, help, labelNames, bounds } = this.#options;
    const series = this.#series.all.map(
      ({ labels, sum, buckets }): Series => ({
        labels,
        value: sum,
        buckets: [...buckets],
      }),
    );
    return { name, help, type: "histogram", labelNames, bounds, series };
  }
}
