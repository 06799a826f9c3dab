/**
 * Writes the statement of a project and a month from the roll-ups of the ledger, which are kept when its rows are
 * pruned. Each request is in one row, that of its key, its model and all of its tags, so the rows add up to the total.
 */
import { roundDollars } from "../../lib/nano-dollars.ts";
import {
  groupKey,
  type LedgerQueries,
  type UsageGroup,
  type UsageQuery,
} from "../../storage/ports/ledger-queries.ts";
import type { StoredStatement } from "../../storage/sql/statement-store.ts";
import type { KeyNames } from "./key-names.ts";
import { addSums, noSums, otherGroup, subtractSums } from "./show-usage.ts";
import { csvLine } from "./usage-csv.ts";

/** The largest groups have rows of their own. All others are summed in one row. */
const maxRows = 10_000;

interface StatementReads {
  readonly queries: Pick<LedgerQueries, "usage">;
  readonly keyNames: Pick<KeyNames, "of">;
}

/** The start and the end of a month such as `2026-10`, Unix milliseconds. */
export function rangeOfMonth(month: string): { readonly from: number; readonly to: number } {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { from: Date.UTC(year, number - 1), to: Date.UTC(year, number) };
}

export async function writeStatement(
  { queries, keyNames }: StatementReads,
  { project, month, createdAt }: Pick<StoredStatement, "project" | "month" | "createdAt">,
): Promise<{ readonly statement: StoredStatement; readonly csv: string }> {
  const query: UsageQuery = {
    ...rangeOfMonth(month),
    project,
    interval: "total",
    limit: maxRows,
  };
  // From the smallest part to the total: a request that arrives meanwhile is in the total only.
  const tagged = await queries.usage({ ...query, groupBy: ["keyId", "model", "tags"] });
  const ofModels = await queries.usage({ ...query, groupBy: ["keyId", "model"] });
  const { groups: totals } = await queries.usage(query);
  const total = totals.reduce(addSums, noSums);
  const untagged = tagged.hasMore ? otherGroup : "";
  const rows = [
    ...tagged.groups,
    ...rest(ofModels.groups, tagged.groups, untagged),
    ...othersOf(total, ofModels.groups),
  ];
  const names = await keyNames.of(new Set(rows.map(({ keyId }) => keyId ?? "")));
  const { requests, unpricedRequests: unpriced } = total;
  return {
    statement: {
      project,
      month,
      createdAt,
      requests,
      unpriced,
      cost: roundDollars(total.cost),
      estimatedCost: roundDollars(total.estimatedCost),
    },
    csv: [csvLine(columns), ...rows.toSorted(compareRows).map((row) => lineOf(row, names))].join(
      "",
    ),
  };
}

const idOf = ({ keyId, model }: UsageGroup): string => groupKey([keyId ?? null, model ?? null]);

/** What the rows with tags leave of each key and model. */
function rest(
  groups: readonly UsageGroup[],
  tagged: readonly UsageGroup[],
  tags: string,
): readonly UsageGroup[] {
  const parts = new Map<string, UsageGroup[]>();
  for (const group of tagged) {
    const id = idOf(group);
    const part = parts.get(id);
    if (part) part.push(group);
    else parts.set(id, [group]);
  }
  return groups.flatMap((group): UsageGroup[] => {
    const sums = (parts.get(idOf(group)) ?? []).reduce<UsageGroup>(
      (left, part) => ({ ...group, ...subtractSums(left, part) }),
      group,
    );
    return sums.requests > 0 ? [{ ...sums, tags }] : [];
  });
}

/** What the keys and models leave of the total. */
function othersOf(
  total: ReturnType<typeof addSums>,
  groups: readonly UsageGroup[],
): readonly UsageGroup[] {
  const sums = groups.reduce(subtractSums, total);
  if (sums.requests === 0) return [];
  return [{ ...sums, from: 0, keyId: otherGroup, model: otherGroup, tags: otherGroup }];
}

const columns = [
  "key_id",
  "key",
  "model",
  "tags",
  "requests",
  "requests_without_cost",
  "cost",
  "estimated_cost",
  "charged",
] as const;

const lineOf = (group: UsageGroup, names: ReadonlyMap<string, string>): string =>
  csvLine([
    group.keyId ?? "",
    names.get(group.keyId ?? "") ?? "",
    group.model ?? "",
    group.tags ?? "",
    group.requests,
    group.unpricedRequests,
    roundDollars(group.cost),
    roundDollars(group.estimatedCost),
    roundDollars(group.cost + group.estimatedCost),
  ]);

/** By key, model and tags, so that statements of two months can be compared. */
const compareRows = (one: UsageGroup, other: UsageGroup): number =>
  nameOf(one) < nameOf(other) ? -1 : 1;

const nameOf = ({ keyId, model, tags }: UsageGroup): string =>
  groupKey([keyId ?? null, model ?? null, tags ?? null]);
