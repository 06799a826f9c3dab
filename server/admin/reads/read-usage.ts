/**
 * Reads usage by the dimensions of the admin API: users are folded from keys, successful requests are what failures
 * leave of the total, and groups below the largest ones are summed.
 */
import type { UsageDimension } from "../../../contract/admin.ts";
import {
  type GroupNames,
  groupKey,
  type LedgerQueries,
  type UsageGroup,
  type UsageQuery,
  type UsageReport,
} from "../../storage/ports/ledger-queries.ts";
import type { UserStore } from "../../storage/sql/user-store.ts";
import { largestGroups, ledgerDimensionsOf, otherGroup, subtractSums } from "./show-usage.ts";

/** The status of all requests without an error. */
const succeeded = "ok";

interface UsageReads {
  readonly queries: Pick<LedgerQueries, "usage">;
  readonly users: Pick<UserStore, "list">;
}

/** `top`: the number of groups with sums of their own. Undefined: all. */
export async function readUsage(
  { queries, users }: UsageReads,
  query: UsageQuery,
  dimensions: readonly UsageDimension[],
  top?: number,
): Promise<UsageReport> {
  if (dimensions.includes("status")) return readByStatus(queries, query);
  const groupBy = dimensions.flatMap((name) => ledgerDimensionsOf[name]);
  const byUser = dimensions.includes("user") ? await userNames(users) : undefined;
  const grouped: UsageQuery = { ...query, groupBy, groupNames: byUser };
  if (top === undefined) {
    const { groups, hasMore } = await queries.usage(grouped);
    return { groups: groups.map((group) => withUser(group, byUser)), hasMore };
  }
  const totals = await queries.usage({ ...grouped, interval: "total" });
  const idOf = (group: UsageGroup): string =>
    group.name ?? groupKey(groupBy.map((dimension) => group[dimension] ?? null));
  const kept = new Set(largestGroups(totals.groups, top).map(idOf));
  const groupNames = byUser
    ? { ...byUser, of: new Map([...byUser.of].map(([key, id]) => [key, keptName(id, kept)])) }
    : { of: new Map([...kept].map((id) => [id, id])), other: otherGroup };
  const { groups, hasMore } = await queries.usage({ ...grouped, groupNames });
  return {
    groups: groups.map((group) => (byUser ? withUser(group, byUser) : named(group, groupBy))),
    hasMore,
  };
}

const keptName = (id: string, kept: ReadonlySet<string>): string =>
  kept.has(id) ? id : otherGroup;

/** A user's requests in the playgrounds have the id of the user. The requests of API keys have no user. */
async function userNames(users: Pick<UserStore, "list">): Promise<GroupNames> {
  const ids = (await users.list()).map(({ id }) => id);
  return { of: new Map(ids.map((id) => [id, id])), other: "" };
}

const withUser = (group: UsageGroup, byUser: GroupNames | undefined): UsageGroup =>
  byUser ? { ...group, keyId: group.name || null } : group;

/** The values of the dimensions from the name of a group. */
function named(group: UsageGroup, groupBy: NonNullable<UsageQuery["groupBy"]>): UsageGroup {
  const { name = "", ...sums } = group;
  const values = name === otherGroup ? groupBy.map(() => otherGroup) : name.split("\n");
  return {
    ...sums,
    ...Object.fromEntries(groupBy.map((dimension, at) => [dimension, values[at] || null])),
  };
}

/** The latest period first, and in it the group with the most requests. */
async function readByStatus(
  queries: Pick<LedgerQueries, "usage">,
  query: UsageQuery,
): Promise<UsageReport> {
  const [total, failed] = await Promise.all([
    queries.usage({ ...query, groupBy: [] }),
    queries.usage({ ...query, groupBy: ["failedStatus"] }),
  ]);
  const rest = new Map(total.groups.map((group) => [group.from, group]));
  for (const group of failed.groups) {
    const before = rest.get(group.from);
    if (before) rest.set(group.from, { ...subtractSums(before, group), from: group.from });
  }
  const successes = [...rest.values()]
    .filter(({ requests }) => requests > 0)
    .map((group): UsageGroup => ({ ...group, failedStatus: succeeded }));
  const groups = [...successes, ...failed.groups].toSorted(
    (a, b) => b.from - a.from || b.requests - a.requests,
  );
  return {
    groups: groups.slice(0, query.limit),
    hasMore: total.hasMore || failed.hasMore || groups.length > query.limit,
  };
}
