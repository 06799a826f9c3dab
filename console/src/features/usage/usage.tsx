/** Usage over time and by group: totals, charts and a table, each leading to the requests behind it. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { UsageDimension } from "../../../../contract/admin.ts";
import { periodsOf, type Zone } from "../../charts/periods.ts";
import { timeText } from "../../charts/time-text.ts";
import { useLanguage } from "../../i18n/messages.ts";
import { dateTime } from "../../lib/time.ts";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { ChartsSkeleton, TilesSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { requestsOf } from "./drill-down.ts";
import { GroupCharts } from "./group-charts.tsx";
import { byPeriod, doOverlap, groupSeries } from "./group-series.ts";
import { UsageFilters } from "./usage-filters.tsx";
import { usageRange } from "./usage-range.ts";
import { readUsageSearch } from "./usage-search.ts";
import { UsageTable } from "./usage-table.tsx";
import { ExportLink, UsageToolbar } from "./usage-toolbar.tsx";
import { UsageTotals } from "./usage-totals.tsx";
import { useUsage } from "./use-usage.ts";

export function UsagePage() {
  const { t, language } = useLanguage();
  // The router also keeps parameters that are not valid.
  const search = readUsageSearch({ ...useSearch({ from: "/signed-in/usage" }) });
  const navigate = useNavigate({ from: "/usage" });
  const zone: Zone = search.zone === "utc" ? "UTC" : undefined;
  const { group = "model", split } = search;
  const dimensions = useMemo(
    (): readonly UsageDimension[] => (split ? [group, split] : [group]),
    [group, split],
  );
  const range = usageRange(search, zone, Date.now());
  const usage = useUsage(search, range, dimensions, zone);
  const { from, to, interval, previous } = range;
  const [rows, allRows] = [usage.series.data?.data, usage.all.data?.data];
  const shown = useMemo(() => {
    const periods = periodsOf(interval, Date.parse(from), Date.parse(to), zone);
    const times = periods.map((start) => start / 1000);
    return {
      periods,
      times,
      time: timeText({ language, timeZone: zone, interval, times }),
      series: groupSeries(rows ?? [], dimensions, periods, t),
      all: byPeriod(allRows ?? [], periods),
    };
  }, [rows, allRows, dimensions, interval, from, to, zone, language, t]);
  // Each change is in the history, so that Back returns to the view before.
  const change = (changes: Record<string, string | undefined>): void => {
    navigate({ search: readUsageSearch({ ...search, ...changes }) });
  };
  const iso = (ms: number): string => new Date(ms).toISOString();
  return (
    <Page
      title={t("nav.usage")}
      description={t("usage.description")}
      actions={<ExportLink href={usage.csv} />}
    >
      <div className="flex flex-col gap-2">
        <UsageToolbar
          search={search}
          range={range}
          zone={zone}
          dimensions={dimensions}
          onChange={change}
        />
        <UsageFilters search={search} range={range} group={group} onChange={change} />
      </div>
      <QueryView
        query={usage.totals}
        loading={<TilesSkeleton count={7} className="grid-cols-2 sm:grid-cols-4 lg:grid-cols-7" />}
      >
        {({ data }) => (
          <UsageTotals
            totals={data[0]}
            previous={usage.previous.data?.data[0]}
            previousTime={`${dateTime(previous.from, language, zone)} – ${dateTime(previous.to, language, zone)}`}
          />
        )}
      </QueryView>
      <QueryView query={usage.series} loading={<ChartsSkeleton count={6} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title={t("usage.none")} />
            </Card>
          ) : (
            <GroupCharts
              series={shown.series}
              areOverlapping={doOverlap(dimensions)}
              rows={shown.all}
              times={shown.times}
              time={shown.time}
              timeZone={zone}
              onPick={(at, series) => {
                const [start = 0, end = Date.parse(to)] = shown.periods.slice(at, at + 2);
                const time = { from: iso(Math.max(start, Date.parse(from))), to: iso(end) };
                navigate({ to: "/requests", search: requestsOf(search, time, series?.group) });
              }}
              onZoom={(start, end) =>
                change({ range: undefined, from: iso(start * 1000), to: iso(end * 1000) })
              }
            />
          )
        }
      </QueryView>
      <Card>
        <QueryView query={usage.groups}>
          {({ data, has_more }) =>
            data.length === 0 ? (
              <Empty title={t("usage.none")} />
            ) : (
              <>
                {has_more && <p className="px-4 py-2 text-warn">{t("usage.more")}</p>}
                {doOverlap(dimensions) && (
                  <p className="px-4 py-2 text-muted">{t("usage.overlap")}</p>
                )}
                <UsageTable
                  rows={data}
                  totalCost={usage.totals.data?.data[0]?.charged}
                  dimensions={dimensions}
                  colorOf={(id) => shown.series.find((series) => series.id === id)?.color}
                  requestsOf={(values) => requestsOf(search, range, values)}
                  onFilter={change}
                />
              </>
            )
          }
        </QueryView>
      </Card>
    </Page>
  );
}
