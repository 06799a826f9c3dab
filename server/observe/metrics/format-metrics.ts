/** Writes metrics as text: OpenMetrics 1.0 with exemplars, or the older Prometheus format 0.0.4 without them. */
import type { Exemplar, MetricSnapshot, Series } from "./metric-snapshot.ts";

export type MetricsFormat = "openmetrics" | "prometheus";

export const contentTypes: Readonly<Record<MetricsFormat, string>> = {
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
};

export function formatMetrics(metrics: readonly MetricSnapshot[], format: MetricsFormat): string {
  let text = "";
  for (const metric of metrics) {
    const { name, help, type } = metric;
    const sampleName = type === "counter" ? `${name}_total` : name;
    const family = format === "openmetrics" ? name : sampleName;
    text += `# HELP ${family} ${escapeHelp(help)}\n# TYPE ${family} ${type}\n`;
    for (const series of metric.series) {
      text +=
        type === "histogram"
          ? histogramLines(metric, series, format)
          : `${sampleName}${labelText(metric.labelNames, series.labels)} ${series.value}\n`;
    }
  }
  return format === "openmetrics" ? `${text}# EOF\n` : text;
}

function histogramLines(
  { name, labelNames, bounds = [] }: MetricSnapshot,
  { labels, value, buckets = [], exemplars = [] }: Series,
  format: MetricsFormat,
): string {
  let text = "";
  let count = 0;
  const namesWithBound = [...labelNames, "le"];
  buckets.forEach((observations, index) => {
    count += observations;
    const bound = bounds[index];
    const withBound = [...labels, bound === undefined ? "+Inf" : boundText(bound)];
    const exemplar = format === "openmetrics" ? exemplarText(exemplars[index]) : "";
    text += `${name}_bucket${labelText(namesWithBound, withBound)} ${count}${exemplar}\n`;
  });
  const suffix = labelText(labelNames, labels);
  return `${text}${name}_sum${suffix} ${value}\n${name}_count${suffix} ${count}\n`;
}

/** Both formats spell the bound of a bucket in the same way: otherwise one bucket would be two time series. */
const boundText = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : `${bound}`);

function exemplarText(exemplar: Exemplar | null | undefined): string {
  if (!exemplar) return "";
  const { requestId, traceId, value, at } = exemplar;
  const trace = traceId === undefined ? "" : `,trace_id="${traceId}"`;
  return ` # {request_id="${requestId}"${trace}} ${value} ${at / 1000}`;
}

const labelText = (names: readonly string[], values: readonly string[]): string =>
  names.length === 0
    ? ""
    : `{${names.map((name, index) => `${name}="${escapeLabel(values[index] ?? "")}"`).join(",")}}`;

const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
