/** A time series, drawn by uPlot. A table with the same numbers serves screen readers. */
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { useT } from "../i18n/messages.ts";
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

export function LineChart({ title, times, series, format, height = 180 }: LineChartProps) {
  const t = useT();
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
        axes: [axis, { ...axis, size: 80, values: (_, ticks) => ticks.map(format) }],
        scales: { y: { range: (_, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        series: [
          { label: t("column.time") },
          ...series.map((each) => ({
            label: each.label,
            stroke: color(each.color),
            width: 2,
            points: { size: 4 },
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
  }, [times, series, format, height, t, theme]);
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
