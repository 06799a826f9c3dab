/** A time series, drawn by uPlot. A table with the same numbers serves screen readers. */
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { type Language, useLanguage } from "../i18n/messages.ts";
import { localeOf } from "../lib/time.ts";
import { useShownTheme } from "../ui/theme.ts";

export interface Series {
  readonly label: string;
  /** The name of a color of the theme, such as `--accent`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface LineChartProps {
  readonly title: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number | null) => string;
  readonly height?: number;
}

const daySeconds = 86_400;
const [minAxisWidth, characterWidth] = [60, 7];

/** The time of day in a chart of up to two days, else the date. */
function timeText(time: number, times: readonly number[], language: Language): string {
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) <= 2 * daySeconds;
  const parts = isShort
    ? ({ hour: "2-digit", minute: "2-digit" } as const)
    : ({ month: "short", day: "numeric" } as const);
  return new Date(time * 1000).toLocaleString(localeOf(language), parts);
}

/** Points without a neighbor, through which no line goes. */
const isolatedPoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null
      ? [at]
      : [],
  );

/** Wide enough for the longest label: small amounts, such as $0.000012, have many digits. */
const widthOf = (_: UPlot, texts: readonly string[] | null): number =>
  Math.max(
    minAxisWidth,
    20 + characterWidth * Math.max(0, ...(texts ?? []).map(({ length }) => length)),
  );

export function LineChart({ title, times, series, format, height = 180 }: LineChartProps) {
  const { t, language } = useLanguage();
  const theme = useShownTheme();
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = container.current;
    if (!element) return undefined;
    const color = (name: string): string => getComputedStyle(element).getPropertyValue(name);
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 } };
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: series.length > 1 },
        cursor: { y: false },
        axes: [
          {
            ...axis,
            space: 80,
            values: (_, ticks) => ticks.map((tick) => timeText(tick, times, language)),
          },
          { ...axis, size: widthOf, values: (_, ticks) => ticks.map(format) },
        ],
        scales: { y: { range: (_, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        series: [
          { label: t("column.time") },
          ...series.map((each) => ({
            label: each.label,
            stroke: color(each.color),
            width: 2,
            points: {
              size: 4,
              filter: (_: UPlot, _index: number, isShown: boolean) =>
                isShown ? null : isolatedPoints(each.values),
            },
            value: (_: UPlot, value: number | null) => format(value),
          })),
        ],
      },
      [[...times], ...series.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, series, format, height, t, language, theme]);
  return (
    <figure className="relative">
      <div ref={container} aria-hidden="true" />
      <SeriesTable title={title} times={times} series={series} format={format} />
    </figure>
  );
}

const SeriesTable = ({ title, times, series, format }: LineChartProps) => (
  // A table does not shrink to the size of a hidden element, so the element around it is hidden.
  <div className="sr-only">
    <table>
      <caption>{title}</caption>
      <tbody>
        {times.map((time, at) => (
          <tr key={time}>
            <th scope="row">{new Date(time * 1000).toISOString()}</th>
            {series.map(({ label, values }) => (
              <td key={label}>{`${label}: ${format(values[at] ?? null)}`}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
