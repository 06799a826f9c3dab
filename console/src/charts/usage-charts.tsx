/** The charts of usage over time: requests, latency, cost, tokens and images. */

import { useMemo } from "react";
import type { UsageInterval, UsageRow } from "../../../contract/admin.ts";
import type { MessageKey } from "../i18n/message-keys.ts";
import { useT } from "../i18n/messages.ts";
import { count, dollars, milliseconds } from "../lib/format.ts";
import { Card } from "../ui/card.tsx";
import { fillPeriods } from "./fill-periods.ts";
import { LineChart, type Series } from "./line-chart.tsx";

interface Chart {
  readonly heading: MessageKey;
  readonly format: (value: number | null) => string;
  readonly lines: readonly {
    readonly name: MessageKey;
    readonly color: string;
    readonly value: (row: UsageRow) => number | null;
  }[];
}

const charts: readonly Chart[] = [
  {
    heading: "overview.chart.requests",
    format: count,
    lines: [
      { name: "figure.requests", color: "--accent", value: ({ requests }) => requests },
      { name: "figure.errorCount", color: "--bad", value: ({ errors }) => errors },
    ],
  },
  {
    heading: "overview.chart.latency",
    format: milliseconds,
    lines: [
      { name: "figure.p50", color: "--accent", value: (row) => row.latency_p50_ms },
      { name: "figure.p95", color: "--warn", value: (row) => row.latency_p95_ms },
      { name: "figure.p99", color: "--bad", value: (row) => row.latency_p99_ms },
    ],
  },
  {
    heading: "overview.chart.cost",
    format: dollars,
    lines: [{ name: "figure.cost", color: "--accent", value: ({ cost }) => cost }],
  },
  {
    heading: "overview.chart.tokens",
    format: count,
    lines: [
      {
        name: "figure.tokens",
        color: "--accent",
        value: (row) => row.input_tokens + row.output_tokens,
      },
      { name: "figure.images", color: "--good", value: ({ images }) => images },
    ],
  },
];

interface UsageChartsProps {
  /** The periods with requests. */
  readonly rows: readonly UsageRow[];
  readonly interval: UsageInterval;
  readonly from: string;
  readonly to: string;
}

export function UsageCharts({ rows, interval, from, to }: UsageChartsProps) {
  const filled = useMemo(
    () => fillPeriods(rows, interval, Date.parse(from), Date.parse(to)),
    [rows, interval, from, to],
  );
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {charts.map((chart) => (
        <UsageChart key={chart.heading} chart={chart} rows={filled} />
      ))}
    </div>
  );
}

function UsageChart({ chart, rows }: { chart: Chart; rows: readonly UsageRow[] }) {
  const t = useT();
  const times = useMemo(() => rows.map(({ start }) => Date.parse(start) / 1000), [rows]);
  const series = useMemo(
    () =>
      chart.lines.map(
        ({ name, color, value }): Series => ({ label: t(name), color, values: rows.map(value) }),
      ),
    [chart, rows, t],
  );
  return (
    <Card title={t(chart.heading)} className="min-w-0">
      <div className="p-3">
        <LineChart title={t(chart.heading)} times={times} series={series} format={chart.format} />
      </div>
    </Card>
  );
}
