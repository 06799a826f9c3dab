import { queryOptions, useQuery } from "@tanstack/react-query";
import type { Statistics } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
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

/** What is switched off is left out. */
function figuresOf(
  { started_at, requests_in_flight, requests_queued, cache, batching }: Statistics,
  t: Translate,
): readonly (readonly [name: string, value: React.ReactNode])[] {
  return [
    [t("statistics.startedAt"), <Time key="start" iso={started_at} />],
    [t("statistics.inFlight"), count(requests_in_flight)],
    [t("statistics.queued"), count(requests_queued)],
    ...(cache.enabled ? cacheFigures(cache, t) : []),
    ...(batching.enabled ? batchingFigures(batching, t) : []),
  ];
}

const cacheFigures = ({ entries, bytes: size, max_bytes }: Statistics["cache"], t: Translate) =>
  [
    [t("statistics.cacheEntries"), count(entries)],
    [t("statistics.cacheSize"), `${bytes(size)} / ${bytes(max_bytes)}`],
  ] as const;

const batchingFigures = ({ batches, batched_requests }: Statistics["batching"], t: Translate) =>
  [
    [t("statistics.batches"), count(batches)],
    [t("statistics.batchedRequests"), count(batched_requests)],
  ] as const;
