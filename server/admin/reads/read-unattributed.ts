/**
 * The usage of requests without a tag or end user: what the requests with any leave of the total. The usage of all tags
 * cannot be subtracted, because a request is in the usage of each of its tags.
 */
import type { UsageDimension } from "../../../contract/admin.ts";
import {
  groupKey,
  type LabelKind,
  type LedgerQueries,
  type UsageGroup,
  type UsageQuery,
  type UsageReport,
} from "../../storage/ports/ledger-queries.ts";
import { ledgerDimensionsOf, subtractSums } from "./show-usage.ts";

const nothing: UsageReport = { groups: [], hasMore: false };

export async function readUnattributed(
  queries: Pick<LedgerQueries, "usage">,
  query: UsageQuery,
  dimensions: readonly UsageDimension[],
): Promise<UsageReport> {
  const kind = dimensions.includes("tag") ? "tag" : "endUser";
  const isGrouped = kind === "tag" || dimensions.includes("end_user");
  if (!isGrouped || query[kind] !== undefined) return nothing;
  const groupBy = dimensions
    .flatMap((name) => ledgerDimensionsOf[name])
    .filter((name): name is Exclude<typeof name, LabelKind> => name !== kind);
  const others: UsageQuery = { ...query, groupBy, groupNames: undefined };
  // The total last: a request that arrives meanwhile is in the total only.
  const attributed = await queries.usage({
    ...others,
    attributedBy: kind,
  });
  const total = await queries.usage(others);
  const idOf = (group: UsageGroup): string =>
    `${group.from}\n${groupKey(groupBy.map((name) => group[name] ?? null))}`;
  const parts = new Map(attributed.groups.map((group) => [idOf(group), group]));
  const rest = total.groups.flatMap((group): UsageGroup[] => {
    const part = parts.get(idOf(group));
    const sums = part ? { ...group, ...subtractSums(group, part) } : group;
    return sums.requests > 0 ? [{ ...sums, [kind]: null }] : [];
  });
  return { groups: rest, hasMore: total.hasMore || attributed.hasMore };
}
