/** The sums of the time range, with their change against the time before, and their course. */
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { lazyComponent } from "../../api/chunks.ts";
import { useLanguage } from "../../i18n/messages.ts";
import { dateTime, timeZone } from "../../lib/time.ts";
import { Card } from "../../ui/card.tsx";
import { ChartsSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { usageQuery } from "../usage/usage-query.ts";
import type { UsageRange } from "../usage/usage-range.ts";
import { UsageTotals } from "../usage/usage-totals.tsx";
import type { SpendOwner } from "./spend-owner.ts";

const UsageCharts = lazyComponent(
  async () => (await import("../../charts/usage-charts.tsx")).UsageCharts,
);

interface TrendProps {
  readonly owner: SpendOwner;
  readonly time: UsageRange;
}

export function Trend({ owner, time: { from, to, interval, previous, isOpen } }: TrendProps) {
  const { t, language } = useLanguage();
  const shown = { ...owner, from, to: isOpen ? undefined : to };
  // Days of the browser's time zone need its name.
  const zone = interval === "hour" ? {} : { time_zone: timeZone() };
  const totals = useQuery(usageQuery({ ...shown, interval: "total" }, isOpen));
  const before = useQuery(usageQuery({ ...owner, ...previous, interval: "total" }, false));
  const series = useQuery(usageQuery({ ...shown, ...zone, interval }, isOpen));
  return (
    <>
      <QueryView query={totals}>
        {({ data: [sums] }) =>
          sums ? (
            <UsageTotals
              totals={sums}
              previous={before.data?.data[0]}
              previousTime={`${dateTime(previous.from, language)} – ${dateTime(previous.to, language)}`}
            />
          ) : (
            <Card>
              <Empty title={t("usage.none")} />
            </Card>
          )
        }
      </QueryView>
      <QueryView query={series}>
        {({ data }) =>
          data.length > 0 && (
            <Suspense fallback={<ChartsSkeleton count={4} />}>
              <UsageCharts rows={data} interval={interval} from={from} to={to} />
            </Suspense>
          )
        }
      </QueryView>
    </>
  );
}
