/** The overview: totals, what needs attention, and charts. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import type { Overview } from "../../../../contract/admin.ts";
import { lazyComponent } from "../../api/chunks.ts";
import { call, pathWithQuery } from "../../api/client.ts";
import { useProjectScope } from "../../api/project-scope.ts";
import { useT } from "../../i18n/messages.ts";
import { type Range, startOf } from "../../lib/range.ts";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { RangeButtons } from "../../ui/range-buttons.tsx";
import { ChartsSkeleton, TilesSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { WhenNear } from "../../ui/when-near.tsx";
import { Totals } from "./totals.tsx";

/** Loaded after the figures: the charts are large, and lower on the page. */
const UsageCharts = lazyComponent(
  async () => (await import("../../charts/usage-charts.tsx")).UsageCharts,
);

/** Most of the time there is nothing that needs it. */
const Attention = lazyComponent(async () => (await import("./attention.tsx")).Attention);

/** Most gateways have done its steps. */
const FirstRunGuide = lazyComponent(
  async () => (await import("./first-run-guide.tsx")).FirstRunGuide,
);

/** Tables are large as well, and lower still. */
const ProjectOverview = lazyComponent(
  async () => (await import("./project-overview.tsx")).ProjectOverview,
);

const StatisticsCard = lazyComponent(async () => (await import("./statistics.tsx")).StatisticsCard);

const overviewQuery = (range: Range, project: string | undefined) =>
  queryOptions({
    queryKey: ["overview", range, project],
    queryFn: ({ signal }) =>
      call<Overview>(pathWithQuery("/overview", { from: startOf(range), project }), { signal }),
    refetchInterval: 5_000,
    placeholderData: keepPreviousData,
  });

export function OverviewPage() {
  const t = useT();
  const [range, setRange] = useState<Range>("day");
  const project = useProjectScope();
  const query = useQuery(overviewQuery(range, project));
  return (
    <Page
      title={t("nav.overview")}
      description={t("overview.description")}
      actions={<RangeButtons value={range} onChange={setRange} />}
    >
      <QueryView
        query={query}
        loading={
          <>
            <TilesSkeleton count={8} className="grid-cols-2 sm:grid-cols-4" hasSparkline />
            <ChartsSkeleton count={4} />
          </>
        }
      >
        {(overview) => (
          <>
            {project === undefined && Object.values(overview.guide).includes(false) && (
              <Suspense>
                <FirstRunGuide guide={overview.guide} />
              </Suspense>
            )}
            <Totals overview={overview} range={range} project={project} />
            {overview.attention.length > 0 && (
              <Suspense>
                <Attention groups={overview.attention} />
              </Suspense>
            )}
            {overview.series.length === 0 ? (
              <Card>
                <Empty title={t("overview.none")} />
              </Card>
            ) : (
              <Suspense fallback={<ChartsSkeleton count={4} />}>
                <UsageCharts
                  rows={overview.series}
                  interval={overview.interval}
                  from={overview.from}
                  to={overview.to}
                />
              </Suspense>
            )}
          </>
        )}
      </QueryView>
      {project === undefined && (
        <WhenNear>
          <Suspense>
            <ProjectOverview />
            <StatisticsCard />
          </Suspense>
        </WhenNear>
      )}
    </Page>
  );
}
