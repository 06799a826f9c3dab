/** The charts of usage over time without groups: requests, latency, cost, tokens and images. */
import { useMemo } from "react";
import type { UsageInterval, UsageRow } from "../../../contract/admin.ts";
import { failedOf } from "../api/outcomes.ts";
import type { MessageKey } from "../i18n/message-keys.ts";
import { useLanguage, useT } from "../i18n/messages.ts";
import { count, dollars, milliseconds } from "../lib/format.ts";
import { Card } from "../ui/card.tsx";
import { ChartTitle } from "./chart-title.tsx";
import { Legend, useIsolated } from "./legend.tsx";
import { periodAt, periodsOf } from "./periods.ts";
import type { Series } from "./plot-options.ts";
import { TimeChart } from "./time-chart.tsx";
import { type TimeText, timeText } from "./time-text.ts";

interface Chart {
  readonly heading: MessageKey;
  readonly format: (value: number | null) => string;
  readonly isStacked?: boolean;
  readonly isLogarithmic?: boolean;
  readonly series: readonly {
    readonly name: MessageKey;
    readonly color: string;
    readonly value: (row: UsageRow) => number | null;
  }[];
}

const traffic: readonly Chart[] = [
  {
    heading: "overview.chart.requests",
    format: count,
    isStacked: true,
    series: [
      { name: "figure.succeeded", color: "--series-1", value: (row) => row.requests - row.errors },
      { name: "figure.refused", color: "--series-3", value: ({ refused }) => refused },
      { name: "figure.errorCount", color: "--bad", value: failedOf },
    ],
  },
  {
    heading: "overview.chart.latency",
    format: milliseconds,
    isLogarithmic: true,
    series: [
      { name: "figure.p50", color: "--series-1", value: (row) => row.latency_p50_ms },
      { name: "figure.p95", color: "--series-3", value: (row) => row.latency_p95_ms },
      { name: "figure.p99", color: "--bad", value: (row) => row.latency_p99_ms },
    ],
  },
];

/** The sums of a period. A sum that is always 0 has no chart. */
const sums: readonly Chart[] = [
  {
    heading: "figure.cost",
    format: dollars,
    isStacked: true,
    series: [{ name: "figure.cost", color: "--series-1", value: ({ charged }) => charged }],
  },
  {
    heading: "figure.tokens",
    format: count,
    isStacked: true,
    series: [
      {
        name: "figure.tokens",
        color: "--series-1",
        value: (row) => row.input_tokens + row.output_tokens,
      },
    ],
  },
  {
    heading: "figure.images",
    format: count,
    isStacked: true,
    series: [{ name: "figure.images", color: "--series-1", value: ({ images }) => images }],
  },
];

interface UsageChartsProps {
  /** The periods with requests. */
  readonly rows: readonly UsageRow[];
  readonly interval: UsageInterval;
  readonly from: string;
  readonly to: string;
}

const columns: readonly string[] = ["", "", "lg:grid-cols-2", "lg:grid-cols-3"];

/** Days are those of UTC, as the overview has them. */
export function UsageCharts({ rows, interval, from, to }: UsageChartsProps) {
  const { language } = useLanguage();
  const zone = interval === "day" ? "UTC" : undefined;
  const { times, rowAt, time } = useMemo(() => {
    const periods = periodsOf(interval, Date.parse(from), Date.parse(to), zone);
    const seconds = periods.map((start) => start / 1000);
    const byPeriod = new Map(rows.map((row) => [periodAt(periods, Date.parse(row.start)), row]));
    return {
      times: seconds,
      rowAt: (at: number) => byPeriod.get(at),
      time: timeText({ language, timeZone: zone, interval, times: seconds }),
    };
  }, [rows, interval, from, to, language, zone]);
  const shownSums = sums.filter(({ series }) =>
    series.some(({ value }) => rows.some((row) => (value(row) ?? 0) > 0)),
  );
  return [traffic, shownSums].map((charts) => (
    <div key={charts[0]?.heading} className={`grid gap-4 ${columns[charts.length] ?? ""}`}>
      {charts.map((chart) => (
        <UsageChart
          key={chart.heading}
          chart={chart}
          times={times}
          rowAt={rowAt}
          time={time}
          timeZone={zone}
        />
      ))}
    </div>
  ));
}

interface UsageChartProps {
  readonly chart: Chart;
  readonly times: readonly number[];
  readonly rowAt: (at: number) => UsageRow | undefined;
  readonly time: TimeText;
  readonly timeZone: string | undefined;
}

function UsageChart({ chart, times, rowAt, time, timeZone }: UsageChartProps) {
  const t = useT();
  const series = useMemo(
    () =>
      chart.series.map(({ name, color, value }): Series => {
        // Latency is unknown where there are no requests; all others are 0.
        const absent = chart.format === milliseconds ? null : 0;
        const values = times.map((_, at) => {
          const row = rowAt(at);
          return row ? value(row) : absent;
        });
        return { label: t(name), color, values };
      }),
    [chart, times, rowAt, t],
  );
  const title = t(chart.heading);
  const { shown, legend } = useIsolated(series);
  return (
    <Card
      title={<ChartTitle title={title} isLogarithmic={chart.isLogarithmic} />}
      className="min-w-0"
    >
      <div className="p-3">
        <TimeChart
          title={title}
          times={times}
          series={shown}
          format={chart.format}
          time={time}
          timeZone={timeZone}
          isStacked={chart.isStacked ?? false}
          isLogarithmic={chart.isLogarithmic ?? false}
        />
        {series.length > 1 && <Legend {...legend} />}
      </div>
    </Card>
  );
}
