/**
 * Usage summed by group. The name leads to its page, the number of requests to the requests, and the funnel shows only
 * this group here.
 */
import { Link } from "@tanstack/react-router";
import { Filter } from "lucide-react";
import { Fragment } from "react";
import type { UsageDimension, UsageRow } from "../../../../contract/admin.ts";
import { errorRate, refusedShare } from "../../api/outcomes.ts";
import { Swatch } from "../../charts/legend.tsx";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { RequestsSearch } from "../requests/requests-search.ts";
import { groupFilters, usageFilters } from "./drill-down.ts";
import { GroupName } from "./group-name.tsx";
import { groupId, groupLabel } from "./group-series.ts";
import type { UsageFilterName } from "./usage-search.ts";

interface UsageTableProps {
  readonly rows: readonly UsageRow[];
  readonly dimensions: readonly UsageDimension[];
  /** Of all requests: those with several tags are in several rows. Undefined if it is loaded. */
  readonly totalCost: number | undefined;
  /** The color of a group in the charts. Undefined if it is one of the others. */
  readonly colorOf: (id: string) => string | undefined;
  readonly requestsOf: (group: UsageRow["group"]) => RequestsSearch;
  readonly onFilter: (filters: Readonly<Partial<Record<UsageFilterName, string>>>) => void;
}

export function UsageTable(props: UsageTableProps) {
  const { rows, dimensions, totalCost = 0, colorOf, requestsOf, onFilter } = props;
  const t = useT();
  const sorted = rows.toSorted((a, b) => b.charged - a.charged || b.requests - a.requests);
  const idOf = (row: UsageRow): string => groupId(row, dimensions);
  const columns: readonly Column<UsageRow>[] = [
    {
      key: "group",
      header: dimensions.map((name) => t(`usage.dimension.${name}`)).join(" · "),
      sortBy: (row) => groupLabel(row, dimensions, t),
      cell: (row) => {
        const label = groupLabel(row, dimensions, t);
        const filters = usageFilters(row.group);
        return (
          <span className="flex min-w-32 items-center gap-2">
            <Swatch color={colorOf(idOf(row)) ?? "--series-other"} />
            <Name
              row={row}
              dimensions={dimensions}
              requests={groupFilters(row.group) && requestsOf(row.group)}
            />
            {filters && (
              <Button
                size="small"
                look="quiet"
                className="h-5!"
                aria-label={t("usage.only", { group: label })}
                title={t("usage.only", { group: label })}
                onClick={() => onFilter(filters)}
              >
                <Filter className="size-3.5 text-muted" />
              </Button>
            )}
          </span>
        );
      },
    },
    number("cost", t("figure.cost"), (row) => row.charged, dollars),
    {
      key: "share",
      header: t("usage.share"),
      cell: (row) => <Share share={totalCost === 0 ? 0 : row.charged / totalCost} />,
    },
    {
      ...number("requests", t("figure.requests"), (row) => row.requests, count),
      cell: (row) =>
        groupFilters(row.group) ? (
          <Link
            to="/requests"
            search={requestsOf(row.group)}
            className="text-accent underline-offset-2 hover:underline"
          >
            {count(row.requests)}
          </Link>
        ) : (
          count(row.requests)
        ),
    },
    number("errors", t("figure.errors"), errorRate, percent),
    number("refused", t("figure.refused"), refusedShare, percent),
    number("tokens", t("figure.tokens"), (row) => row.input_tokens + row.output_tokens, count),
    number("images", t("figure.images"), (row) => row.images, count),
    {
      ...number("unpriced", t("usage.withoutCost"), (row) => row.requests_without_cost, count),
      priority: 2,
    },
    number("p95", t("usage.p95"), (row) => row.latency_p95_ms, milliseconds),
  ];
  return <Table label={t("nav.usage")} rows={sorted} rowKey={idOf} columns={columns} />;
}

interface NameProps {
  readonly row: UsageRow;
  readonly dimensions: readonly UsageDimension[];
  /** Undefined if the group is not one value, such as all others. */
  readonly requests: RequestsSearch | undefined;
}

/** Of one dimension or of two. */
const Name = ({ row, dimensions, requests }: NameProps) => (
  <span className="flex min-w-0 flex-wrap items-center gap-x-1.5 *:min-w-0 *:max-w-full sm:max-w-32">
    {dimensions.map((dimension, at) => (
      <Fragment key={dimension}>
        {at > 0 && <span aria-hidden="true">·</span>}
        <GroupName row={row} dimension={dimension} requests={requests} />
      </Fragment>
    ))}
  </span>
);

const number = (
  key: string,
  header: string,
  of: (row: UsageRow) => number | null,
  format: (value: number | null) => string,
): Column<UsageRow> => ({
  key,
  header,
  sortBy: of,
  align: "right",
  cell: (row) => format(of(row)),
});

/** The share of the total cost. */
const Share = ({ share }: { share: number }) => (
  <span className="flex items-center gap-2">
    <span aria-hidden="true" className="h-1.5 w-12 overflow-hidden rounded-full bg-sunken">
      <span className="block h-full bg-series-1" style={{ width: `${share * 100}%` }} />
    </span>
    <span className="text-xs whitespace-nowrap text-muted tabular-nums">{percent(share)}</span>
  </span>
);
