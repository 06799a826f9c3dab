/**
 * The sums of the overview's time range: requests, error rate, refused requests, latency, cost, tokens, images, cache hit
 * rate. Each has its change against the time before, its course, and a link to what it counts.
 */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Overview, UsageSums } from "../../../../contract/admin.ts";
import { errorRate, refusedShare } from "../../api/outcomes.ts";
import { periodAt, periodsOf } from "../../charts/periods.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useLanguage } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";
import { lengthOf, type Range } from "../../lib/range.ts";
import { dateTime } from "../../lib/time.ts";
import { ShownChange } from "../usage/shown-change.tsx";
import { usageQuery } from "../usage/usage-query.ts";

interface Figure {
  readonly name: MessageKey;
  readonly format: (value: number | null) => string;
  readonly of: (sums: UsageSums) => number | null;
  readonly isWorse?: boolean;
  readonly isRate?: boolean;
  /** The outcome of the requests that it leads to. Without it, it leads to the usage page. */
  readonly status?: "failed" | "refused";
}

const figures: readonly Figure[] = [
  { name: "figure.requests", format: count, of: ({ requests }) => requests },
  {
    name: "figure.errors",
    format: percent,
    of: errorRate,
    isWorse: true,
    isRate: true,
    status: "failed",
  },
  { name: "figure.refused", format: percent, of: refusedShare, isRate: true, status: "refused" },
  {
    name: "figure.p95",
    format: milliseconds,
    of: ({ latency_p95_ms }) => latency_p95_ms,
    isWorse: true,
  },
  { name: "figure.cost", format: dollars, of: ({ charged }) => charged },
  { name: "figure.tokens", format: count, of: (sums) => sums.input_tokens + sums.output_tokens },
  { name: "figure.images", format: count, of: ({ images }) => images },
  {
    name: "figure.hitRate",
    format: percent,
    of: ({ inputs, cached_inputs }) => (inputs === 0 ? null : cached_inputs / inputs),
    isRate: true,
  },
];

const hourMs = 3_600_000;

interface TotalsProps {
  readonly overview: Overview;
  readonly range: Range;
  /** If undefined, all projects. */
  readonly project: string | undefined;
}

export function Totals({ overview, range, project }: TotalsProps) {
  const { totals, series, interval, from, to } = overview;
  const { t, language } = useLanguage();
  // Whole hours, as usage is stored: the hour at the border is not counted twice.
  const end = Math.floor(Date.parse(from) / hourMs) * hourMs;
  const before = {
    from: new Date(end - lengthOf(range)).toISOString(),
    to: new Date(end).toISOString(),
  };
  const previous = useQuery(usageQuery({ ...before, interval: "total", project }, false));
  const earlier = previous.data?.data[0];
  const time = `${dateTime(before.from, language)} – ${dateTime(before.to, language)}`;
  const periods = periodsOf(
    interval,
    Date.parse(from),
    Date.parse(to),
    interval === "day" ? "UTC" : undefined,
  );
  const scope = project === undefined ? {} : { project };
  const rows = new Map(series.map((row) => [periodAt(periods, Date.parse(row.start)), row]));
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {figures.map(({ name, format, of, isWorse = false, isRate = false, status }) => {
        const [now, then] = [of(totals), earlier ? of(earlier) : null];
        const text = t("usage.before", { value: format(then), time });
        // A sum without requests is 0, and a share or a latency of none is unknown.
        const absent = isRate || name === "figure.p95" ? null : 0;
        return (
          <div
            key={name}
            className="relative flex min-w-0 flex-col rounded-lg border border-line bg-surface p-4 hover:border-accent"
          >
            <dt className="truncate text-xs text-muted">
              {/* The link covers the tile. */}
              <Link
                {...(status
                  ? { to: "/requests", search: { ...scope, range, status } }
                  : { to: "/usage", search: { ...scope, range } })}
                className="after:absolute after:inset-0"
              >
                {t(name)}
              </Link>
            </dt>
            <dd className="mt-1 flex flex-wrap items-baseline justify-between gap-x-2">
              <span className="text-xl font-semibold tabular-nums">{format(now)}</span>
              <span className="relative text-xs" title={text}>
                <ShownChange
                  now={now}
                  before={then}
                  isWorse={isWorse}
                  isRate={isRate}
                  text={text}
                />
              </span>
            </dd>
            <dd className="mt-2">
              <Sparkline
                values={periods.map((_, at) => {
                  const row = rows.get(at);
                  return row ? of(row) : absent;
                })}
              />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
