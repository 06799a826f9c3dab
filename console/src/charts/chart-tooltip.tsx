/** The values of one period, beside the pointer. */

import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import { floatingStyle } from "../ui/floating-style.ts";
import type { Series } from "./plot-options.ts";

interface ChartTooltipProps {
  readonly heading: string;
  readonly series: readonly Series[];
  /** The period. */
  readonly at: number;
  /** Pixels from the left edge of the chart. */
  readonly left: number;
  readonly format: (value: number | null) => string;
  /** Undefined if there is none. */
  readonly total: number | undefined;
  /** Stacked values of 0 are left out. */
  readonly isStacked: boolean;
  /** The series under the pointer. */
  readonly marked: number | undefined;
}

/** Half of its largest width. */
const flipAt = 240;

export function ChartTooltip(props: ChartTooltipProps) {
  const { heading, series, at, left, format, total, isStacked, marked } = props;
  const t = useT();
  const rows = series
    .map(({ label, color, values }, index) => ({ label, color, index, value: values[at] ?? null }))
    .filter(({ value }) => !isStacked || (value ?? 0) !== 0)
    .toReversed();
  return (
    <div
      role="presentation"
      data-chart-tooltip=""
      className={classNames(
        floatingStyle,
        "pointer-events-none absolute top-2 w-max max-w-72 min-w-40 p-2.5 text-xs",
        left > flipAt ? "-translate-x-[calc(100%+12px)]" : "translate-x-3",
      )}
      style={{ left }}
    >
      <p className="mb-1.5 font-medium whitespace-nowrap">{heading}</p>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-2 gap-y-0.5">
        {total !== undefined && (
          <Row label={t("chart.total")} value={format(total)} isMarked={marked === undefined} />
        )}
        {(series.length > 1 || !isStacked) &&
          rows.map(({ label, color, index, value }) => (
            <Row
              key={index}
              label={label}
              color={color}
              value={format(value)}
              isMarked={index === marked}
            />
          ))}
      </dl>
    </div>
  );
}

interface RowProps {
  readonly label: string;
  readonly value: string;
  readonly color?: string;
  readonly isMarked: boolean;
}

const Row = ({ label, value, color, isMarked }: RowProps) => (
  <>
    <span
      className="size-2 rounded-sm"
      style={color === undefined ? {} : { backgroundColor: `var(${color})` }}
    />
    <dt className={classNames("truncate", isMarked ? "font-medium text-ink" : "text-muted")}>
      {label}
    </dt>
    <dd className={classNames("text-right tabular-nums", isMarked && "font-medium")}>{value}</dd>
  </>
);
