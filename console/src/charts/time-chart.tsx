/**
 * Values over time, drawn by uPlot as lines or stacked bars. All charts of a page share the cursor. A table with the
 * same numbers serves screen readers.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import UPlot from "uplot";
import { useShownTheme } from "../ui/theme.ts";
import { ChartTooltip } from "./chart-tooltip.tsx";
import { plotData, plotOptions, type Series } from "./plot-options.ts";
import { SeriesTable } from "./series-table.tsx";
import { seriesAt, stackedSums } from "./stack.ts";
import type { TimeText } from "./time-text.ts";

interface TimeChartProps {
  readonly title: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number | null) => string;
  readonly time: TimeText;
  /** The default is that of the browser. */
  readonly timeZone?: string | undefined;
  readonly isStacked?: boolean;
  /** By period, where the series have another sum. */
  readonly totals?: readonly (number | null)[];
  readonly isLogarithmic?: boolean;
  readonly height?: number;
  /** The period under the cursor of any chart of the page. */
  readonly onHover?: (at: number | undefined) => void;
  /** A click on a period, and on one of its stacked series. */
  readonly onPick?: (at: number, series: number | undefined) => void;
  /** A part of the chart was selected with the pointer. Unix seconds. */
  readonly onZoom?: (from: number, to: number) => void;
}

interface Hover {
  readonly at: number;
  /** Pixels from the left edge of the chart. */
  readonly left: number;
  /** Of a stack. */
  readonly series: number | undefined;
}

/** A shorter selection is a click. */
const minZoomPixels = 8;

export function TimeChart(props: TimeChartProps) {
  const { times, series, format, time, timeZone, isStacked = false, height = 180 } = props;
  const { hover, container } = usePlot({ ...props, isStacked, height, timeZone, time });
  const shownInTable = useMemo(
    () => (isStacked ? [totalOf(series, props.title)] : series),
    [isStacked, series, props.title],
  );
  return (
    <figure className="relative">
      <div
        ref={container}
        aria-hidden="true"
        className={props.onPick ? "cursor-pointer" : ""}
        style={{ height }}
      />
      {hover && (
        <ChartTooltip
          heading={time.period(times[hover.at] ?? 0)}
          series={series}
          at={hover.at}
          left={hover.left}
          format={format}
          total={totalAt(props, hover.at)}
          isStacked={isStacked}
          marked={hover.series}
        />
      )}
      <SeriesTable
        title={props.title}
        times={times}
        // The table of the page has the groups, so that this one stays small.
        series={shownInTable}
        format={format}
      />
    </figure>
  );
}

/** Undefined if the series are no parts of a total. */
function totalAt({ totals, series, isStacked }: TimeChartProps, at: number): number | undefined {
  if (totals) return totals[at] ?? 0;
  return isStacked ? series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0) : undefined;
}

const totalOf = (series: readonly Series[], label: string): Series => ({
  label,
  color: "",
  values: stackedSums(series.map(({ values }) => values)).at(-1) ?? [],
});

/** Draws the chart, and follows the pointer. New values are drawn without a new chart, so that the cursor stays. */
function usePlot(props: TimeChartProps & { readonly isStacked: boolean; readonly height: number }) {
  const { times, series, format, time, timeZone, isStacked, isLogarithmic = false, height } = props;
  const theme = useShownTheme();
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [hover, setHover] = useState<Hover>();
  const colorNames = series.map(({ color }) => color).join();
  useEffect(() => {
    const element = container.current;
    if (!element) return undefined;
    const color = (name: string): string => getComputedStyle(element).getPropertyValue(name);
    const style = {
      isStacked,
      isLogarithmic,
      colors: colorNames === "" ? [] : colorNames.split(",").map(color),
      muted: color("--muted"),
      line: color("--line"),
      format,
      time,
      timeZone,
    };
    const draw = (): (() => void) => {
      const created = new UPlot(
        {
          ...plotOptions(style, element.clientWidth, height),
          hooks: {
            setCursor: [(shown) => setHover(followCursor(shown, latest.current))],
            setSelect: [(shown) => zoom(shown, latest.current)],
          },
        },
        plotData(latest.current.times, latest.current.series, isStacked),
        element,
      );
      plot.current = created;
      const stopPicking = listenForPick(created, () => latest.current);
      const observer = new ResizeObserver(() =>
        created.setSize({ width: element.clientWidth, height }),
      );
      observer.observe(element);
      return () => {
        observer.disconnect();
        stopPicking();
        created.destroy();
        plot.current = null;
        setHover(undefined);
      };
    };
    // Each chart of a page is drawn in a task of its own.
    let remove: (() => void) | undefined;
    const timer = setTimeout(() => {
      remove = draw();
    });
    return () => {
      clearTimeout(timer);
      remove?.();
    };
  }, [isStacked, isLogarithmic, colorNames, format, time, timeZone, height, theme]);
  useEffect(() => {
    plot.current?.setData(plotData(times, series, isStacked));
  }, [times, series, isStacked]);
  return { container, hover };
}

/** Undefined if the pointer is not over this chart. */
function followCursor(plot: UPlot, { series, isStacked, onHover }: TimeChartProps) {
  const { idx, left = -1, top = -1 } = plot.cursor;
  const at = left < 0 ? undefined : (idx ?? undefined);
  onHover?.(at);
  if (at === undefined || !plot.over.matches(":hover")) return undefined;
  const height = plot.posToVal(top, "y");
  const values = series.map((each) => each.values);
  const marked = isStacked ? seriesAt(values, at, height) : undefined;
  return { at, left: left + plot.over.offsetLeft, series: marked };
}

function zoom(plot: UPlot, { onZoom }: TimeChartProps): void {
  const { left, width } = plot.select;
  if (width < minZoomPixels) return;
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  onZoom?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
}

/** A click at the place where the button was pressed: otherwise it is a selection. */
function listenForPick(plot: UPlot, props: () => TimeChartProps): () => void {
  let pressedAt = 0;
  const press = ({ clientX }: MouseEvent): void => {
    pressedAt = clientX;
  };
  const click = ({ clientX }: MouseEvent): void => {
    const followed = followCursor(plot, props());
    if (followed && Math.abs(clientX - pressedAt) < minZoomPixels)
      props().onPick?.(followed.at, followed.series);
  };
  plot.over.addEventListener("mousedown", press);
  plot.over.addEventListener("click", click);
  return () => {
    plot.over.removeEventListener("mousedown", press);
    plot.over.removeEventListener("click", click);
  };
}
