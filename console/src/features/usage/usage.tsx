/** Usage over time and by any of the dimensions, also as CSV. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type UsagePage as Usage,
  type UsageDimension,
  usageDimensions,
} from "../../../../contract/admin.ts";
import { call, pathWithQuery, type Query } from "../../api/client.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useT } from "../../i18n/messages.ts";
import { endOf, type Range, startOf } from "../../lib/range.ts";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { RangeSelect } from "../../ui/range-select.tsx";
import { Select } from "../../ui/select.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { UsageTable } from "./usage-table.tsx";

/** New requests are shown within this time. */
const refreshMs = 2000;
/**
 * A query that takes long is repeated less often, so that an open page takes at most this share of the server's time.
 */
const maxTimeShare = 1 / 20;

const usageQuery = (query: Query) =>
  queryOptions({
    queryKey: ["/usage", query],
    queryFn: async ({ signal }) => {
      const startedAt = performance.now();
      const usage = await call<Usage>(pathWithQuery("/usage", query), { signal });
      return { ...usage, durationMs: performance.now() - startedAt };
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) =>
      Math.max(refreshMs, (state.data?.durationMs ?? 0) / maxTimeShare),
  });

/** The second dimension, if it can be combined with the first. Usage is summed by tag or by end user, not by both. */
function combine(first: UsageDimension, second: UsageDimension | ""): UsageDimension | "" {
  const labels: readonly string[] = ["tag", "end_user"];
  const isExcluded = first === second || (labels.includes(first) && labels.includes(second));
  return isExcluded ? "" : second;
}

export function UsagePage() {
  const t = useT();
  const [range, setRange] = useState<Range>("week");
  const [dimensions, setDimensions] = useState<readonly [UsageDimension, UsageDimension | ""]>([
    "model",
    "",
  ]);
  const from = startOf(range);
  const to = endOf(from, range);
  const interval = range === "day" || range === "week" ? "hour" : "day";
  const groupBy = [...new Set(dimensions)].filter((name) => name !== "");
  const series = useQuery(usageQuery({ from, interval }));
  const groups = useQuery(usageQuery({ from, interval: "total", group_by: groupBy.join(",") }));
  const csv = pathWithQuery("/admin/api/usage.csv", {
    from,
    interval: "day",
    group_by: groupBy.join(","),
  });
  const optionOf = (name: UsageDimension) => ({
    value: name,
    label: t(`usage.dimension.${name}`),
  });
  return (
    <Page
      title={t("nav.usage")}
      description={t("usage.description")}
      actions={
        <>
          <RangeSelect value={range} onChange={setRange} />
          <div>
            <Select
              aria-label={t("usage.groupBy")}
              value={dimensions[0]}
              onChange={(name) => setDimensions([name, combine(name, dimensions[1])])}
              options={usageDimensions.map(optionOf)}
            />
          </div>
          <div>
            <Select
              aria-label={`${t("usage.groupBy")} 2`}
              value={dimensions[1]}
              onChange={(name) => setDimensions([dimensions[0], name])}
              options={[
                { value: "", label: "–" },
                ...usageDimensions
                  .filter((name) => combine(dimensions[0], name) !== "")
                  .map(optionOf),
              ]}
            />
          </div>
          <a
            href={csv}
            download="usage.csv"
            className="inline-flex h-9 items-center rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-sunken"
          >
            {t("usage.csv")}
          </a>
        </>
      }
    >
      <QueryView query={series}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title={t("usage.none")} />
            </Card>
          ) : (
            <UsageCharts rows={data} interval={interval} from={from} to={to} />
          )
        }
      </QueryView>
      <Card>
        <QueryView query={groups}>
          {({ data, has_more }) =>
            data.length === 0 ? (
              <Empty title={t("usage.none")} />
            ) : (
              <>
                {has_more && <p className="px-4 py-2 text-warn">{t("usage.more")}</p>}
                <UsageTable rows={data} dimensions={groupBy} />
              </>
            )
          }
        </QueryView>
      </Card>
    </Page>
  );
}
