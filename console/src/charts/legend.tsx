/** The names and colors of the series of one or several charts. */
import type { Series } from "./plot-options.ts";

export const Swatch = ({ color }: Pick<Series, "color">) => (
  <span
    aria-hidden="true"
    className="inline-block size-2.5 shrink-0 rounded-sm"
    style={{ backgroundColor: `var(${color})` }}
  />
);

export const Legend = ({ series }: { series: readonly Pick<Series, "label" | "color">[] }) => (
  <ul className="flex flex-wrap gap-x-4 gap-y-1 px-1 pt-1 text-xs text-muted">
    {series.map(({ label, color }, at) => (
      <li key={at} className="flex max-w-64 min-w-0 items-center gap-1.5">
        <Swatch color={color} />
        <span className="truncate">{label}</span>
      </li>
    ))}
  </ul>
);
