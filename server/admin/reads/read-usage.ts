/**
 * Reads usage by the dimensions of the admin API: users are folded from keys, successful requests are what failures
 * leave of the total, requests without a tag or end user are a group, and groups below the largest ones are summed.
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
import { readUnattributed } from "./read-unattributed.ts";
import {
  addSums,
  largestGroups,
  ledgerDimensionsOf,
  otherGroup,
  subtractSums,
} from "./show-usage.ts";

/** The status of all requests without an error. */
const succeeded = "ok";

interface UsageReads {
  readonly queries: Pick<LedgerQueries, "usage">;
  readonly users: Pick<UserStore, "list">;
}

/** `top`: the number of groups with sums of their own. Undefined for all. */
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
    const report = await queries.usage(grouped);
    const groups = report.groups.map((group) => withUser(group, byUser));
    const unattributed = await readUnattributed(queries, query, dimensions);
    return merged({ ...report, groups }, unattributed, query.limit);
  }
  const ofAll = { ...query, interval: "total" } as const;
  const totals = await queries.usage({ ...grouped, interval: "total" });
  const unattributedTotals = await readUnattributed(queries, ofAll, dimensions);
  const idOf = (group: UsageGroup): string =>
    group.name ?? groupKey(groupBy.map((dimension) => group[dimension] ?? null));
  const kept = new Set(
    largestGroups([...totals.groups, ...unattributedTotals.groups], top).map(idOf),
  );
  const groupNames = byUser
    ? { ...byUser, of: new Map([...byUser.of].map(([key, id]) => [key, keptName(id, kept)])) }
    : { of: new Map([...kept].map((id) => [id, id])), other: otherGroup };
  const report = await queries.usage({ ...grouped, groupNames });
  const groups = report.groups.map((group) =>
    byUser ? withUser(group, byUser) : named(group, groupBy),
  );
  const unattributed = await readUnattributed(queries, query, dimensions);
  const isKept = (group: UsageGroup): boolean => kept.has(idOf(group));
  const others = withOthers(
    groups,
    unattributed.groups.filter((group) => !isKept(group)),
    groupBy,
  );
  return merged(
    { ...report, groups: others },
    { ...unattributed, groups: unattributed.groups.filter(isKept) },
    query.limit,
  );
}

/** Adds groups to the one of all others in their period. */
function withOthers(
  groups: readonly UsageGroup[],
  more: readonly UsageGroup[],
  groupBy: NonNullable<UsageQuery["groupBy"]>,
): readonly UsageGroup[] {
  const isOther = (group: UsageGroup): boolean =>
    groupBy.every((dimension) => group[dimension] === otherGroup);
  const values = Object.fromEntries(groupBy.map((dimension) => [dimension, otherGroup]));
  const others = new Map(groups.filter(isOther).map((group) => [group.from, group]));
  for (const group of more) {
    const { from } = group;
    const before = others.get(from);
    const sums = before ? addSums(before, group) : group;
    others.set(from, { ...sums, ...values, from });
  }
  return [...groups.filter((group) => !isOther(group)), ...others.values()];
}

/** The latest period first, and in it the group with the most requests. */
function merged(report: UsageReport, more: UsageReport, limit: number): UsageReport {
  const groups = [...report.groups, ...more.groups].toSorted(
    (a, b) => b.from - a.from || b.requests - a.requests,
  );
  return {
    groups: groups.slice(0, limit),
    hasMore: report.hasMore || more.hasMore || groups.length > limit,
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
  return merged(failed, { groups: successes, hasMore: total.hasMore }, query.limit);
}
