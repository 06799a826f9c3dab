/** What the usage page shows is in the address, so that it can be shared as a link. */
import { type UsageDimension, usageDimensions } from "../../../../contract/admin.ts";
import { type Range, ranges } from "../../lib/range.ts";

export const usageFilterNames = ["model", "key", "project", "target", "tag", "end_user"] as const;
export type UsageFilterName = (typeof usageFilterNames)[number];

export interface UsageSearch extends Readonly<Partial<Record<UsageFilterName, string>>> {
  /** The default is 7 days, or `from` and `to`. */
  readonly range?: Range;
  /** ISO 8601. A range of the user's own has both. */
  readonly from?: string;
  readonly to?: string;
  /** If absent, by model. */
  readonly group?: UsageDimension;
  /** The second dimension. */
  readonly split?: UsageDimension;
  /** The default is the time zone of the browser. */
  readonly zone?: "utc";
  /** With the requests of the gateway itself. */
  readonly internal?: "true";
}

/** The gateway accepts longer end users. */
const text = (value: unknown, maxLength = 300): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= maxLength ? value : undefined;

const time = (value: unknown): string | undefined =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;

export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const dimension = (value: unknown) => usageDimensions.find((name) => name === value);
  const range = ranges.find((each) => each === search.range);
  const [from, to] = [time(search.from), time(search.to)];
  const hasTimes =
    range === undefined &&
    from !== undefined &&
    to !== undefined &&
    Date.parse(from) < Date.parse(to);
  const group = dimension(search.group);
  const split = secondDimension(group ?? "model", dimension(search.split));
  const filters = usageFilterNames.flatMap((name) => {
    const value = text(search[name], name === "end_user" ? 1000 : 300);
    return value !== undefined && mayFilter(name, group ?? "model") ? [[name, value]] : [];
  });
  return {
    ...(range && { range }),
    ...(hasTimes && { from, to }),
    ...(group && { group }),
    ...(split && { split }),
    ...(search.zone === "utc" && { zone: "utc" }),
    ...(text(search.internal) === "true" && { internal: "true" }),
    ...oneExclusive(Object.fromEntries(filters)),
  };
}

/** Usage is summed by one of tag, end user and status. */
const exclusive: readonly string[] = ["tag", "end_user", "status"];
/** Usage by these is not summed by another dimension as well. */
const singles: readonly string[] = ["status", "user"];

export const mayFilter = (name: UsageFilterName, group: UsageDimension): boolean =>
  name === group || !(exclusive.includes(name) && exclusive.includes(group));

/** The dimension, if it can be combined with the first one. */
export function secondDimension(
  first: UsageDimension,
  second: UsageDimension | undefined,
): UsageDimension | undefined {
  if (second === undefined || first === second) return undefined;
  const isSingle = singles.includes(first) || singles.includes(second);
  return isSingle || (exclusive.includes(first) && exclusive.includes(second)) ? undefined : second;
}

function oneExclusive(filters: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (filters.tag === undefined || filters.end_user === undefined) return filters;
  const { end_user: _, ...others } = filters;
  return others;
}

/** The project has a switcher of its own. */
export const isChip = (name: UsageFilterName): boolean => name !== "project";

export const filtersOf = (search: UsageSearch) =>
  usageFilterNames.flatMap((name) => {
    const value = search[name];
    return value === undefined ? [] : [{ name, value }];
  });
