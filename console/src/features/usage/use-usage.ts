/** The queries of the usage page. */
import { useQuery } from "@tanstack/react-query";
import type { UsageDimension } from "../../../../contract/admin.ts";
import { pathWithQuery } from "../../api/client.ts";
import type { Zone } from "../../charts/periods.ts";
import { timeZone } from "../../lib/time.ts";
import { maxGroups } from "./group-series.ts";
import { usageQuery } from "./usage-query.ts";
import type { UsageRange } from "./usage-range.ts";
import { filtersOf, type UsageSearch } from "./usage-search.ts";

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
