/** The sums of the time range, each with its change against the time before. */
import type { UsageSums } from "../../../../contract/admin.ts";
import { errorRate, refusedShare } from "../../api/outcomes.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";
import { Tooltip } from "../../ui/tooltip.tsx";
import { isKnownChange, ShownChange, type ShownChangeProps } from "./shown-change.tsx";

interface Figure {
  readonly name: string;
  readonly format: (value: number | null) => string;
  readonly of: (sums: UsageSums) => number | null;
  /** More is worse: errors and latency. */
  readonly isWorse?: boolean;
  readonly isRate?: boolean;
}

interface UsageTotalsProps {
  readonly totals: UsageSums | undefined;
  /** Undefined if it is not known yet. */
  readonly previous: UsageSums | undefined;
  /** The time before, in words. */
  readonly previousTime: string;
}

export function UsageTotals({ totals, previous, previousTime }: UsageTotalsProps) {
  const t = useT();
  const figures: readonly Figure[] = [
    { name: t("figure.cost"), format: dollars, of: ({ charged }) => charged },
    { name: t("figure.requests"), format: count, of: ({ requests }) => requests },
    {
      name: t("figure.errors"),
      format: percent,
      of: errorRate,
      isWorse: true,
      isRate: true,
    },
    { name: t("figure.refused"), format: percent, of: refusedShare, isRate: true },
    {
      name: t("figure.tokens"),
      format: count,
      of: (sums) => sums.input_tokens + sums.output_tokens,
    },
    { name: t("figure.images"), format: count, of: ({ images }) => images },
    {
      name: t("usage.p95"),
      format: milliseconds,
      of: ({ latency_p95_ms }) => latency_p95_ms,
      isWorse: true,
    },
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4 lg:grid-cols-7">
      {figures.map(({ name, format, of, isWorse = false, isRate = false }) => {
        const [now, before] = [totals ? of(totals) : null, previous ? of(previous) : null];
        return (
          <div key={name} className="min-w-0 rounded-lg border border-line bg-surface p-4">
            <dt className="truncate text-xs text-muted" title={name}>
              {name}
            </dt>
            <dd className="mt-1 truncate text-xl font-semibold tabular-nums">{format(now)}</dd>
            <dd className="mt-0.5 text-xs">
              <ExplainedChange
                now={now}
                before={before}
                isWorse={isWorse}
                isRate={isRate}
                text={t("usage.before", { value: format(before), time: previousTime })}
              />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** The earlier value is a tooltip, also for the keyboard. */
function ExplainedChange(props: ShownChangeProps) {
  if (!isKnownChange(props)) return <ShownChange {...props} />;
  return (
    <Tooltip text={props.text}>
      <button type="button" className="cursor-default">
        <ShownChange {...props} />
      </button>
    </Tooltip>
  );
}
