/**
 * The options of uPlot for a chart over time: lines, or stacked bars. Recharts takes five times as many bytes, and
 * thousands of elements for the charts of the usage page.
 */
import UPlot from "uplot";
import { stackedSums } from "./stack.ts";
import type { TimeText } from "./time-text.ts";

export interface Series {
  readonly label: string;
  /** The name of a color of the theme, such as `--accent`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface PlotStyle {
  readonly isStacked: boolean;
  /** For values of which some are thousands of times the others, such as latencies of embeddings and images. */
  readonly isLogarithmic: boolean;
  /** The colors of the series. */
  readonly colors: readonly string[];
  readonly muted: string;
  readonly line: string;
  readonly format: (value: number | null) => string;
  readonly time: TimeText;
  /** The default is that of the browser. */
  readonly timeZone: string | undefined;
}

const [minAxisWidth, characterWidth] = [48, 7];
/** Charts with the same key have one cursor. */
const cursorKey = "vexel";

/** Wide enough for the longest label: small amounts, such as $0.000012, have many digits. */
const axisWidth = (_: UPlot, texts: readonly string[] | null): number =>
  Math.max(
    minAxisWidth,
    20 + characterWidth * Math.max(0, ...(texts ?? []).map(({ length }) => length)),
  );

/** Short: 0 without a unit, and 40 s instead of 40.0 s. */
const axisText = (format: PlotStyle["format"], value: number): string =>
  value === 0 ? "0" : format(value).replace(/\.0(?= )/, "");

/** The powers of 10 of a logarithmic axis, from the one below the least value to the one above the largest. */
const decades = (min: number | null, max: number | null): [number, number] => {
  const [low, high] = [min ?? 0, max ?? 0].map((value) => Math.log10(Math.max(value, 1)));
  const first = Math.floor(low ?? 0);
  return [first, Math.max(first + 1, Math.ceil(high ?? 0))];
};

const logarithmicRange: UPlot.Range.Function = (_, min, max) => {
  const [first, last] = decades(min, max);
  return [10 ** first, 10 ** last];
};

const powersOfTen = (_: UPlot, __: number, min: number, max: number): number[] => {
  const [first, last] = decades(min, max);
  return Array.from({ length: last - first + 1 }, (___, at) => 10 ** (first + at));
};

/** Points without a neighbor, through which no line goes. */
const isolatedPoints = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, at) => {
    const isAlone = (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;
    return (value ?? null) !== null && isAlone ? [at] : [];
  });

/** Half a period on both sides: the first and the last bar are as wide as the others. */
function timeRange(plot: UPlot): [number, number] {
  const times = plot.data[0];
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const half = times.length > 1 ? (last - first) / (times.length - 1) / 2 : 1800;
  return [first - half, last + half];
}

/** In the order in which they are drawn: the sum of all series first. */
export const plotData = (
  times: readonly number[],
  series: readonly Series[],
  isStacked: boolean,
): UPlot.AlignedData => {
  const values = series.map((each) => each.values);
  return [
    [...times],
    ...(isStacked ? stackedSums(values).toReversed() : values.map((v) => [...v])),
  ];
};

export function plotOptions(style: PlotStyle, width: number, height: number): UPlot.Options {
  const { isStacked, isLogarithmic, muted, line, format, time, timeZone } = style;
  const axis = {
    stroke: muted,
    font: "11px ui-sans-serif, system-ui, sans-serif",
    ticks: { show: false },
  };
  const bars = UPlot.paths.bars?.({ size: [0.75, 48], radius: 0.08 });
  const colors = isStacked ? style.colors.toReversed() : style.colors;
  return {
    width,
    height,
    ...(timeZone !== undefined && {
      tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1000), timeZone),
    }),
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      sync: { key: cursorKey },
      drag: { x: true, y: false, setScale: false },
      points: { show: !isStacked },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 72,
        values: (_, ticks) => ticks.map(time.axis),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: axisWidth,
        space: 36,
        ...(isLogarithmic && { splits: powersOfTen, filter: (_: UPlot, ticks: number[]) => ticks }),
        values: (_, ticks) => ticks.map((tick) => axisText(format, tick)),
      },
    ],
    scales: {
      x: { range: timeRange },
      y: isLogarithmic
        ? { distr: 3, range: logarithmicRange }
        : { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    series: [
      {},
      ...colors.map((color): UPlot.Series => {
        if (isStacked) {
          return { fill: color, width: 0, points: { show: false }, ...(bars && { paths: bars }) };
        }
        const isolated: UPlot.Series.Points.Filter = (plot, index, isShown) =>
          isShown ? null : isolatedPoints([...(plot.data[index] ?? [])]);
        return { stroke: color, width: 1.75, points: { size: 4, filter: isolated } };
      }),
    ],
  };
}
