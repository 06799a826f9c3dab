/** The queries of the usage page. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import type { UsageDimension, UsagePage } from "../../../../contract/admin.ts";
import { call, pathWithQuery, type Query } from "../../api/client.ts";
import type { Zone } from "../../charts/periods.ts";
import { timeZone } from "../../lib/time.ts";
import { maxGroups } from "./group-series.ts";
import type { UsageRange } from "./usage-range.ts";
import { filtersOf, type UsageSearch } from "./usage-search.ts";

/** New requests are shown within this time. */
const refreshMs = 4000;
/**
 * A query that takes long is repeated less often, so that an open page takes at most this share of the server's time.
 */
const maxTimeShare = 1 / 20;

export const usageQuery = (query: Query, refreshes = true) =>
  queryOptions({
    queryKey: ["/usage", query],
    queryFn: async ({ signal }) => {
      const startedAt = performance.now();
      const usage = await call<UsagePage>(pathWithQuery("/usage", query), { signal });
      return { ...usage, durationMs: performance.now() - startedAt };
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) =>
      refreshes && Math.max(refreshMs, (state.data?.durationMs ?? 0) / maxTimeShare),
  });

/** Days of the browser's time zone need its name. */
const zoneName = (zone: Zone): string | undefined => (zone === "UTC" ? undefined : timeZone());

export function useUsage(
  search: UsageSearch,
  range: UsageRange,
  dimensions: readonly UsageDimension[],
  zone: Zone,
) {
  const filters = Object.fromEntries(filtersOf(search).map(({ name, value }) => [name, value]));
  const { from, to, interval, previous, isOpen } = range;
  const shared = { ...filters, internal: search.internal };
  const time = { from, to: isOpen ? undefined : to };
  const group_by = dimensions.join(",");
  const zoned = interval === "hour" ? {} : { time_zone: zoneName(zone) };
  const series = { ...shared, ...time, ...zoned, interval };
  // Usage by status has few groups.
  const top = dimensions.includes("status") ? undefined : maxGroups;
  return {
    series: useQuery(usageQuery({ ...series, group_by, top }, isOpen)),
    all: useQuery(usageQuery(series, isOpen)),
    groups: useQuery(usageQuery({ ...shared, ...time, interval: "total", group_by }, isOpen)),
    totals: useQuery(usageQuery({ ...shared, ...time, interval: "total" }, isOpen)),
    previous: useQuery(usageQuery({ ...shared, ...previous, interval: "total" }, false)),
    csv: pathWithQuery("/admin/api/usage.csv", {
      ...shared,
      ...zoned,
      from,
      to,
      interval,
      group_by,
    }),
  };
}
