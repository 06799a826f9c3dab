/** From usage to its requests: the same filters, and the group and time that were chosen. */
import type { UsageRow } from "../../../../contract/admin.ts";
import type { RequestsSearch } from "../requests/requests-search.ts";
import { filtersOf, type UsageFilterName, type UsageSearch } from "./usage-search.ts";

/** The filter of request lists for each dimension. The requests of a user have the user's id instead of a key's. */
const filterOf = {
  model: "model",
  key: "key",
  project: "project",
  upstream: "target",
  target: "target",
  status: "status",
  user: "key",
  tag: "tag",
  end_user: "end_user",
} as const;

/** Undefined if the group is not one value, such as all others, or requests without a project. */
export function groupFilters(group: UsageRow["group"]): RequestsSearch | undefined {
  const filters: Record<string, string> = {};
  for (const [name, value] of Object.entries(group)) {
    if (value === null || value === "(other)") return undefined;
    filters[filterOf[name as keyof typeof filterOf]] = value;
  }
  return filters;
}

interface Time {
  readonly from: string;
  readonly to: string;
}

/** Without a group that is one value, all requests of the time. */
export function requestsOf(
  search: UsageSearch,
  { from, to }: Time,
  group: UsageRow["group"] = {},
): RequestsSearch {
  const filters = Object.fromEntries(filtersOf(search).map(({ name, value }) => [name, value]));
  return {
    from,
    to,
    ...filters,
    ...(search.internal && { internal: search.internal }),
    ...groupFilters(group),
  };
}

/** The same, to show the usage of this group only. A status is no filter of usage. */
export function usageFilters(
  group: UsageRow["group"],
): Readonly<Partial<Record<UsageFilterName, string>>> | undefined {
  return "status" in group ? undefined : groupFilters(group);
}
