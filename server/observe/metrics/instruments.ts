/**
 * Counters and histograms of the request path. Each has a maximum number of label sets, and counts all further label
 * sets as `other`. prom-client, the usual library, takes ten times as long for an observation (decision 49).
 */
import type { MetricSnapshot, Series } from "./metric-snapshot.ts";

interface InstrumentOptions {
  /** Without the suffix `_total` of a counter. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** The maximum number of label sets. */
  readonly maxSeries?: number;
}

/** The label value of the one series that counts all label sets beyond the maximum. */
export const otherLabel = "other";

/** The series of the label values that lead here, and the nodes of the next label. */
interface LabelNode<T> {
  series: T | undefined;
  readonly next: Map<string, LabelNode<T>>;
}

const newNode = <T>(): LabelNode<T> => ({ series: undefined, next: new Map() });

/** A trie with a level for each label. Finding a series builds no key, so it allocates nothing. */
class SeriesByLabels<T> {
  readonly all: T[] = [];
  readonly #root = newNode<T>();
  readonly #max: number;
  readonly #create: (labels: readonly string[]) => T;
  #other: T | undefined;

  constructor(max: number, create: (labels: readonly string[]) => T) {
    this.#max = max;
    this.#create = create;
  }

  find(labels: readonly string[]): T {
    let node: LabelNode<T> | undefined = this.#root;
    for (const label of labels) node = node?.next.get(label);
    return node?.series ?? this.#add(labels);
  }

  #add(labels: readonly string[]): T {
    if (this.#other) return this.#other;
    if (this.all.length === this.#max) {
      this.#other = this.#append(labels.map(() => otherLabel));
      return this.#other;
    }
    let node = this.#root;
    for (const label of labels) {
      const next: LabelNode<T> = node.next.get(label) ?? newNode();
      node.next.set(label, next);
      node = next;
    }
    node.series = this.#append(labels);
    return node.series;
  }

  #append(labels: readonly string[]): T {
    const series = this.#create(labels);
    this.all.push(series);
    return series;
  }
}

/** A histogram has many values for each label set, so it may have fewer of them. */
const [maxCounterSeries, maxHistogramSeries] = [1000, 250];

export class Counter {
  readonly #options: InstrumentOptions;
  readonly #series: SeriesByLabels<{ readonly labels: readonly string[]; value: number }>;

  constructor(options: InstrumentOptions) {
    this.#options = options;
    const { maxSeries = maxCounterSeries } = options;
    this.#series = new SeriesByLabels(maxSeries, (labels) => ({ labels, value: 0 }));
  }

  add(amount: number, ...labels: readonly string[]): void {
    this.#series.find(labels).value += amount;
  }

  snapshot(): MetricSnapshot {
    const { name, help, labelNames } = this.#options;
    const series = this.#series.all.map((each) => ({ ...each }));
    return { name, help, type: "counter", labelNames, series };
  }
}

interface HistogramOptions extends InstrumentOptions {
  /** The upper bounds of the buckets, ascending, without infinity. */
  readonly bounds: readonly number[];
}

interface HistogramSeries {
  readonly labels: readonly string[];
  /** The sum of all observations. */
  value: number;
  /** Per bucket, not cumulative; the last one has no bound. */
  readonly buckets: number[];
}

export class Histogram {
  readonly #options: HistogramOptions;
  readonly #series: SeriesByLabels<HistogramSeries>;

  constructor(options: HistogramOptions) {
    this.#options = options;
    const { bounds, maxSeries = maxHistogramSeries } = options;
    this.#series = new SeriesByLabels(maxSeries, (labels) => ({
      labels,
      value: 0,
      buckets: new Array<number>(bounds.length + 1).fill(0),
    }));
  }

  observe(value: number, ...labels: readonly string[]): void {
    const { bounds } = this.#options;
    const series = this.#series.find(labels);
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (series.buckets[bucket] as number)++;
    series.value += value;
  }

  snapshot(): MetricSnapshot {
    const { name, help, labelNames, bounds } = this.#options;
    const series = this.#series.all.map(
      (each): Series => ({
        ...each,
        buckets: [...each.buckets],
      }),
    );
    return { name, help, type: "histogram", labelNames, bounds, series };
  }
}
