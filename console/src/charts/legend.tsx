/** The names and colors of the series of one or several charts. A click shows one series alone, and the next one all. */
import { useState } from "react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import type { Series } from "./plot-options.ts";

export const Swatch = ({ color }: Pick<Series, "color">) => (
  <span
    aria-hidden="true"
    className="inline-block size-2.5 shrink-0 rounded-sm"
    style={{ backgroundColor: `var(${color})` }}
  />
);

type Named = Pick<Series, "label" | "color">;

interface LegendProps {
  readonly series: readonly Named[];
  /** The label of the series that is shown alone. */
  readonly isolated: string | undefined;
  readonly onIsolate: (label: string | undefined) => void;
}

export function Legend({ series, isolated, onIsolate }: LegendProps) {
  const t = useT();
  return (
    <ul className="flex flex-wrap gap-x-2 gap-y-0.5 pt-1 text-xs text-muted">
      {series.map(({ label, color }, at) => {
        const isAlone = label === isolated;
        return (
          <li key={at} className="min-w-0">
            <button
              type="button"
              aria-pressed={isAlone}
              title={t(isAlone ? "chart.showAll" : "chart.isolate", { name: label })}
              onClick={() => onIsolate(isAlone ? undefined : label)}
              className={classNames(
                "flex max-w-64 items-center gap-1.5 rounded px-1 py-0.5 hover:bg-sunken",
                isAlone && "font-medium text-ink",
                isolated !== undefined && !isAlone && "opacity-60",
              )}
            >
              <Swatch color={color} />
              <span className="truncate">{label}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The series that a legend leaves in a chart. One that is gone, such as after a filter, isolates nothing. */
export function useIsolated<Shown extends Named>(series: readonly Shown[]) {
  const [label, setLabel] = useState<string>();
  const alone = series.filter((each) => each.label === label);
  const isAlone = alone.length > 0;
  return {
    shown: isAlone ? alone : series,
    legend: { series, isolated: isAlone ? label : undefined, onIsolate: setLabel },
  };
}
