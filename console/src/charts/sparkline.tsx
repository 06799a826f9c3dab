/** A small line of values over time, without axes. The values are elsewhere in words. */
interface SparklineProps {
  /** `null`: unknown. The line has a gap there. */
  readonly values: readonly (number | null)[];
  /** A bound, as a dashed line. */
  readonly threshold?: number;
}

const [width, height, margin] = [100, 24, 2];

export function Sparkline({ values, threshold }: SparklineProps) {
  const bounds = threshold === undefined ? [] : [threshold];
  const known = [...bounds, ...values.filter((value) => value !== null)];
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
  const step = width / Math.max(1, values.length - 1);
  const y = (value: number): number =>
    height - margin - ((value - low) / (high - low || 1)) * (height - 2 * margin);
  const path = values
    .map((value, at) => {
      if (value === null) return "";
      const isStart = at === 0 || values[at - 1] === null;
      return `${isStart ? "M" : "L"}${(at * step).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join("");
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className="h-6 w-full text-series-1"
    >
      {bounds.map((bound) => (
        <path
          key={bound}
          d={`M0 ${y(bound).toFixed(1)}H${width}`}
          className="text-bad"
          stroke="currentColor"
          strokeDasharray="3 3"
          vectorEffect="non-scaling-stroke"
        />
      ))}
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
