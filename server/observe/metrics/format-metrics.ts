/** Writes metrics in the text format of Prometheus, version 0.0.4, which every scraper reads. */
import type { MetricSnapshot, Series } from "./metric-snapshot.ts";

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function formatMetrics(metrics: readonly MetricSnapshot[]): string {
  let text = "";
  for (const metric of metrics) {
    const { help, type, labelNames } = metric;
    const name = type === "counter" ? `${metric.name}_total` : metric.name;
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    for (const series of metric.series) {
      text +=
        type === "histogram"
          ? histogramLines(metric, series)
          : `${name}${labelText(labelNames, series.labels)} ${series.value}\n`;
    }
  }
  return text;
}

function histogramLines(
  { name, labelNames, bounds = [] }: MetricSnapshot,
  { labels, value, buckets = [] }: Series,
): string {
  let text = "";
  let count = 0;
  const namesWithBound = [...labelNames, "le"];
  buckets.forEach((observations, index) => {
    count += observations;
    const bound = bounds[index];
    const withBound = [...labels, bound === undefined ? "+Inf" : boundText(bound)];
    text += `${name}_bucket${labelText(namesWithBound, withBound)} ${count}\n`;
  });
  const suffix = labelText(labelNames, labels);
  return `${text}${name}_sum${suffix} ${value}\n${name}_count${suffix} ${count}\n`;
}

/** As Prometheus writes a bound: with one decimal at least. */
const boundText = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : `${bound}`);

const labelText = (names: readonly string[], values: readonly string[]): string =>
  names.length === 0
    ? ""
    : `{${names.map((name, index) => `${name}="${escapeLabel(values[index] ?? "")}"`).join(",")}}`;

const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
