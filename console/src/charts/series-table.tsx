/** The numbers of a chart as a table, for screen readers. */
import { memo } from "react";
import type { Series } from "./plot-options.ts";

interface SeriesTableProps {
  readonly title: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number | null) => string;
}

/** Memoized: the chart is rendered again at each move of the pointer. */
export const SeriesTable = memo(({ title, times, series, format }: SeriesTableProps) => (
  // A table does not shrink to the size of a hidden element, so the element around it is hidden.
  <div className="sr-only">
    <table>
      <caption>{title}</caption>
      <tbody>
        {times.map((time, at) => (
          <tr key={time}>
            <th scope="row">{new Date(time * 1000).toISOString()}</th>
            {series.map(({ label, values }, index) => (
              <td key={index}>{`${label}: ${format(values[at] ?? null)}`}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
));
