/** The rows of a usage query as the series of charts, one for each group. */
import type { UsageDimension, UsageRow } from "../../../../contract/admin.ts";
import { periodAt } from "../../charts/periods.ts";
import type { Translate } from "../../i18n/messages.ts";

/** Groups with a color of their own. */
export const maxGroups = 8;
const otherValue = "(other)";
export const otherColor = "--series-other";

export interface UsageSeries {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** By period. Undefined if there is no request. */
  readonly rows: readonly (UsageRow | undefined)[];
  readonly group: UsageRow["group"];
}

export const groupId = (
  { group }: Pick<UsageRow, "group">,
  dimensions: readonly UsageDimension[],
): string => dimensions.map((name) => group[name] ?? "").join("\n");

export function groupLabel(
  row: Pick<UsageRow, "group" | "key_name">,
  dimensions: readonly UsageDimension[],
  t: Translate,
): string {
  const values = dimensions.map((name) => valueLabel(row, name, t));
  return new Set(values).size === 1 ? (values[0] ?? "") : values.join(" · ");
}

export function valueLabel(
  { group, key_name }: Pick<UsageRow, "group" | "key_name">,
  dimension: UsageDimension,
  t: Translate,
): string {
  const value = group[dimension] ?? null;
  if (value === otherValue) return t("usage.other");
  if (dimension === "status" && value === "ok") return t("usage.succeeded");
  if (dimension === "user" && value === null) return t("usage.keys");
  if (value === null && (dimension === "tag" || dimension === "end_user")) {
    return t(`usage.without.${dimension}`);
  }
  if (value === null) return t("usage.without");
  return dimension === "key" || dimension === "user" ? (key_name ?? value) : value;
}

/** A request with several tags is in several groups, so their sum is no total. */
export const doOverlap = (dimensions: readonly UsageDimension[]): boolean =>
  dimensions.includes("tag");

/** The largest groups first, and all others last. `periods`: Unix milliseconds. */
export function groupSeries(
  rows: readonly UsageRow[],
  dimensions: readonly UsageDimension[],
  periods: readonly number[],
  t: Translate,
): readonly UsageSeries[] {
  const groups = Map.groupBy(rows, (row) => groupId(row, dimensions));
  const size = (of: readonly UsageRow[]): number =>
    isOther(of[0]) ? -1 : of.reduce((sum, { cost, requests }) => sum + cost + requests / 1e9, 0);
  return [...groups]
    .toSorted(([, one], [, other]) => size(other) - size(one))
    .flatMap(([id, of], at) => {
      const [first] = of;
      if (!first || (isOther(first) && doOverlap(dimensions))) return [];
      const color = isOther(first) ? otherColor : `--series-${(at % maxGroups) + 1}`;
      return [
        {
          id,
          label: groupLabel(first, dimensions, t),
          color,
          rows: byPeriod(of, periods),
          group: first.group,
        },
      ];
    });
}

/** A row for each period. Undefined if there is no request. */
export function byPeriod(
  rows: readonly UsageRow[],
  periods: readonly number[],
): readonly (UsageRow | undefined)[] {
  const found = new Map(rows.map((row) => [periodAt(periods, Date.parse(row.start)), row]));
  return periods.map((_, at) => found.get(at));
}

export const isOther = (row: Pick<UsageRow, "group"> | undefined): boolean =>
  Object.values(row?.group ?? {}).includes(otherValue);
