/** Placeholders in the shape of what is loaded, so that nothing moves when it comes. */
import type { ReactNode } from "react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";

const Bar = ({ className }: { className: string }) => (
  <div className={classNames("animate-pulse rounded bg-sunken", className)} />
);

/** A status for screen readers, and a mark for what waits until the page is loaded. */
function Waiting({ className, children }: { className: string; children: ReactNode }) {
  const t = useT();
  return (
    <div role="status" aria-busy="true" aria-label={t("state.loading")} className={className}>
      {children}
    </div>
  );
}

/** The keys of a number of equal parts. */
const parts = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

/** The head and the rows of a table. */
export const TableSkeleton = ({ rows = 8 }: { rows?: number }) => (
  <Waiting className="flex flex-col">
    <div className="px-4 py-2.5">
      <Bar className="h-3 w-1/3" />
    </div>
    {parts(rows).map((row) => (
      <div key={row} className="flex h-10 items-center gap-6 border-t border-line px-4">
        <Bar className="h-4 w-1/4" />
        <Bar className="h-4 w-1/6" />
        <Bar className="h-4 flex-1" />
      </div>
    ))}
  </Waiting>
);

/** Some lines of text or fields. */
export const LinesSkeleton = ({ lines = 3 }: { lines?: number }) => (
  <Waiting className="flex flex-col gap-2 p-4">
    {parts(lines).map((line) => (
      <Bar key={line} className="h-5" />
    ))}
  </Waiting>
);

interface TilesSkeletonProps {
  readonly count: number;
  /** The classes of the grid of tiles. */
  readonly className: string;
  readonly hasSparkline?: boolean;
}

/** Figures with their names, in frames. */
export const TilesSkeleton = ({ count, className, hasSparkline = false }: TilesSkeletonProps) => (
  <Waiting className={classNames("grid gap-3", className)}>
    {parts(count).map((tile) => (
      <div key={tile} className="rounded-lg border border-line bg-surface p-4">
        <Bar className="h-4 w-2/3" />
        <Bar className="mt-1 h-7 w-1/2" />
        <Bar className={hasSparkline ? "mt-2 h-6" : "mt-0.5 h-4 w-1/3"} />
      </div>
    ))}
  </Waiting>
);

/** Charts in cards, two in a row. */
export const ChartsSkeleton = ({ count }: { count: number }) => (
  <Waiting className="grid gap-4 lg:grid-cols-2">
    {parts(count).map((chart) => (
      <div key={chart} className="rounded-lg border border-line bg-surface">
        <div className="border-b border-line px-4 py-2.5">
          <Bar className="h-5 w-1/3" />
        </div>
        <div className="p-3">
          <Bar className="h-52" />
        </div>
      </div>
    ))}
  </Waiting>
);
