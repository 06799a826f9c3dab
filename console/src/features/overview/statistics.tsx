import { queryOptions, useQuery } from "@tanstack/react-query";
import type { Statistics } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { bytes, count } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

const statisticsQuery = queryOptions({
  queryKey: ["/statistics"],
  queryFn: ({ signal }) => call<Statistics>("/statistics", { signal }),
  refetchInterval: 5_000,
});

/** The queues, the embedding cache and micro-batching, since the start of the gateway. */
export function StatisticsCard() {
  const t = useT();
  const query = useQuery(statisticsQuery);
  return (
    <Card title={t("statistics.title")}>
      <QueryView query={query}>
        {(statistics) => (
          <dl className="grid gap-x-6 gap-y-2 p-4 sm:grid-cols-2 lg:grid-cols-4">
            {figuresOf(statistics, t).map(([name, value]) => (
              <div key={name}>
                <dt className="text-xs text-muted">{name}</dt>
                <dd className="tabular-nums">{value}</dd>
              </div>
            ))}
          </dl>
        )}
      </QueryView>
    </Card>
  );
}

function figuresOf(
  { started_at, requests_in_flight, requests_queued, cache, batching }: Statistics,
  t: ReturnType<typeof useT>,
): readonly [name: string, value: React.ReactNode][] {
  const off = t("statistics.off");
  return [
    [t("statistics.startedAt"), <Time key="start" iso={started_at} />],
    [t("statistics.inFlight"), count(requests_in_flight)],
    [t("statistics.queued"), count(requests_queued)],
    [t("statistics.cacheEntries"), cache.enabled ? count(cache.entries) : off],
    [
      t("statistics.cacheSize"),
      cache.enabled ? `${bytes(cache.bytes)} / ${bytes(cache.max_bytes)}` : off,
    ],
    [t("statistics.batches"), batching.enabled ? count(batching.batches) : off],
    [t("statistics.batchedRequests"), batching.enabled ? count(batching.batched_requests) : off],
  ];
}
