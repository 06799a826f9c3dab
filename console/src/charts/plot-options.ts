/** The options of uPlot for a chart over time: lines, or stacked bars. */
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
  /** The colors of the series. */
  readonly colors: readonly string[];
  readonly muted: string;
  readonly line: string;
  readonly format: (value: number | null) => string;
  readonly time: TimeText;
  /** Undefined: that of the browser. */
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
  const { isStacked, muted, line, format, time, timeZone } = style;
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
        values: (_, ticks) => ticks.map(format),
      },
    ],
    scales: {
      x: { range: timeRange },
      y: { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
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
