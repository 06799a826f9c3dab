/**
 * Usage over time by group, stacked unless groups overlap, and the latency of all groups. The cursor is the same in
 * all charts, and each says its value there.
 */
import { useMemo, useState } from "react";
import type { UsageRow } from "../../../../contract/admin.ts";
import { failedOf } from "../../api/outcomes.ts";
import { ChartTitle } from "../../charts/chart-title.tsx";
import { Legend, useIsolated } from "../../charts/legend.tsx";
import type { Series } from "../../charts/plot-options.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { TimeText } from "../../charts/time-text.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { maxGroups, otherColor, type UsageSeries } from "./group-series.ts";

interface Measure {
  readonly heading: MessageKey;
  readonly format: (value: number | null) => string;
  readonly of: (row: UsageRow) => number | null;
  /** Shown only if there is any. */
  readonly isOptional?: boolean;
}

const measures: readonly Measure[] = [
  { heading: "figure.cost", format: dollars, of: ({ charged }) => charged },
  { heading: "figure.requests", format: count, of: ({ requests }) => requests },
  {
    heading: "figure.tokens",
    format: count,
    of: (row) => row.input_tokens + row.output_tokens,
  },
  {
    heading: "figure.images",
    format: count,
    of: ({ images }) => images,
    isOptional: true,
  },
  { heading: "figure.errorCount", format: count, of: failedOf },
  { heading: "figure.refused", format: count, of: ({ refused }) => refused, isOptional: true },
];

const latencies = [
  { name: "figure.p50", color: "--series-1", of: (row: UsageRow) => row.latency_p50_ms },
  { name: "figure.p95", color: "--series-3", of: (row: UsageRow) => row.latency_p95_ms },
  { name: "figure.p99", color: "--bad", of: (row: UsageRow) => row.latency_p99_ms },
] as const;

interface GroupChartsProps {
  readonly series: readonly UsageSeries[];
  /** A request may be in several groups. */
  readonly areOverlapping: boolean;
  /** The usage of all groups, by period. Undefined if there is no request. */
  readonly rows: readonly (UsageRow | undefined)[];
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly time: TimeText;
  /** The default is that of the browser. */
  readonly timeZone: string | undefined;
  readonly onPick: (at: number, series: UsageSeries | undefined) => void;
  readonly onZoom: (from: number, to: number) => void;
}

export function GroupCharts(props: GroupChartsProps) {
  const t = useT();
  const { shown: series, legend } = useIsolated(props.series);
  const [alone] = legend.isolated === undefined ? [] : series;
  const shown = { ...props, series, rows: alone?.rows ?? props.rows };
  // The period under the cursor, for the charts that the pointer is not over.
  const [hovered, setHovered] = useState<number>();
  const hasAny = ({ of }: Measure): boolean =>
    series.some(({ rows }) => rows.some((row) => row && (of(row) ?? 0) > 0));
  return (
    <>
      {props.series.length > 1 && (
        <div className="flex flex-wrap items-baseline gap-x-3">
          {props.series.some(({ color }) => color === otherColor) && (
            <p className="text-xs font-medium">{t("usage.top", { count: maxGroups })}</p>
          )}
          <Legend {...legend} />
        </div>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        {measures
          .filter((measure) => !measure.isOptional || hasAny(measure))
          .map((measure) => (
            <GroupChart
              key={measure.heading}
              {...shown}
              measure={measure}
              hovered={hovered}
              onHover={setHovered}
            />
          ))}
        <LatencyChart {...shown} onHover={setHovered} />
      </div>
    </>
  );
}

interface GroupChartProps extends GroupChartsProps {
  readonly measure: Measure;
  readonly hovered: number | undefined;
  readonly onHover: (at: number | undefined) => void;
}

function GroupChart(props: GroupChartProps) {
  const { measure, series, rows, times, time, timeZone, hovered, onHover, onPick, onZoom } = props;
  const t = useT();
  const drawn = useMemo(
    () =>
      series.map(({ label, color, rows }): Series => {
        const values = rows.map((row) => (row ? measure.of(row) : 0));
        return { label, color, values };
      }),
    [measure, series],
  );
  const totals = useMemo(() => rows.map((row) => (row ? measure.of(row) : 0)), [measure, rows]);
  const title = t(measure.heading);
  return (
    <Card
      title={title}
      className="min-w-0"
      actions={
        <Readout measure={measure} totals={totals} hovered={hovered} times={times} time={time} />
      }
    >
      <div className="p-3">
        <TimeChart
          title={title}
          times={times}
          series={drawn}
          format={measure.format}
          time={time}
          timeZone={timeZone}
          isStacked={!props.areOverlapping}
          totals={totals}
          onHover={onHover}
          onPick={(at, index) => onPick(at, index === undefined ? undefined : series[index])}
          onZoom={onZoom}
        />
      </div>
    </Card>
  );
}

function LatencyChart(props: GroupChartsProps & Pick<GroupChartProps, "onHover">) {
  const { rows, times, time, timeZone, onHover, onPick, onZoom } = props;
  const t = useT();
  const series = useMemo(
    () =>
      latencies.map(({ name, color, of }): Series => {
        const values = rows.map((row) => (row ? of(row) : null));
        return { label: t(name), color, values };
      }),
    [rows, t],
  );
  const title = t("overview.chart.latency");
  const { shown, legend } = useIsolated(series);
  return (
    <Card title={<ChartTitle title={title} isLogarithmic />} className="min-w-0">
      <div className="p-3">
        <TimeChart
          title={title}
          times={times}
          series={shown}
          format={milliseconds}
          time={time}
          timeZone={timeZone}
          isLogarithmic
          onHover={onHover}
          onPick={(at) => onPick(at, undefined)}
          onZoom={onZoom}
        />
        <Legend {...legend} />
      </div>
    </Card>
  );
}

interface ReadoutProps {
  readonly measure: Measure;
  /** Of all requests, by period. */
  readonly totals: readonly (number | null)[];
  readonly hovered: number | undefined;
  readonly times: readonly number[];
  readonly time: TimeText;
}

/** The sum of all requests: in the period under the cursor, or else in the whole time. */
function Readout({ measure, totals, hovered, times, time }: ReadoutProps) {
  const shown = hovered === undefined ? totals : [totals[hovered] ?? null];
  const sum = shown.reduce<number>((total, value) => total + (value ?? 0), 0);
  return (
    <p className="flex items-baseline gap-2 text-xs text-muted tabular-nums">
      {hovered !== undefined && <span>{time.period(times[hovered] ?? 0)}</span>}
      <span className="text-sm font-semibold text-ink">{measure.format(sum)}</span>
    </p>
  );
}
