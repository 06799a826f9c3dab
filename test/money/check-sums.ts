/** The law of the sums: spent is the sum of the rows, nothing is reserved, and every view says the same number. */
import {
  chargeOf,
  type Owner,
  ownerName,
  periodOf,
  type Row,
  type ShownBudget,
  type Threshold,
} from "./account.ts";
import { type Nano, nanoOf, type Period } from "./program.ts";
import { dollars, sum, type Violation } from "./violation.ts";

export interface ReplicaView {
  readonly replica: number;
  /** Unix milliseconds by its clock, when the budgets were read. */
  readonly at: number;
  readonly budgets: readonly ShownBudget[];
  readonly usage: ReadonlyMap<string, { readonly charged: Nano; readonly unpriced: number }>;
}

export interface SumsInput {
  readonly owners: readonly Owner[];
  readonly rows: readonly Row[];
  readonly views: readonly ReplicaView[];
  readonly thresholds: readonly Threshold[];
}

export const spentOf = (rows: readonly Row[], owner: Owner, period: Period, at: number): Nano =>
  sum(
    rows
      .filter((row) => owner.owns(row) && periodOf(period, row.at) === periodOf(period, at))
      .map(chargeOf),
  );

const isShownOf = (owner: Owner, period: Period) => (shown: ShownBudget) =>
  shown.scope === owner.scope &&
  shown.name === owner.name &&
  shown.period === period &&
  (owner.project === undefined || shown.project === owner.project);

export function checkSums({ owners, rows, views, thresholds }: SumsInput): Violation[] {
  const violations: Violation[] = [];
  const add = (law: string, text: string): void =>
    void violations.push({ law: `sums: ${law}`, text });
  for (const { replica, at, budgets, usage } of views) {
    for (const owner of owners) {
      for (const [period, limit] of Object.entries(owner.limits) as [Period, Nano][]) {
        const own = rows.filter(owner.owns);
        const expected = spentOf(rows, owner, period, at);
        const shown = budgets.find(isShownOf(owner, period));
        const name = `${ownerName(owner)}, ${period}, at replica ${replica}`;
        if (!shown) {
          add("missing", `${name}: no budget is shown`);
          continue;
        }
        const drift = shown.spent - expected;
        if (Math.abs(drift) > own.length + 1)
          add(
            drift > 0 ? "spent above the ledger" : "spent below the ledger",
            `${name}: ${dollars(shown.spent)} are shown, the ${own.length} rows cost ${dollars(expected)}, the difference is ${dollars(drift)} of a limit of ${dollars(limit)}`,
          );
        if (shown.reserved > 0)
          add("reserved", `${name}: ${dollars(shown.reserved)} are reserved for nothing`);
      }
    }
    for (const [project, own] of Map.groupBy(rows, (row) => row.project ?? "")) {
      const expected = sum(own.map(chargeOf));
      const shown = usage.get(project)?.charged ?? 0;
      if (Math.abs(shown - expected) > own.length + 1)
        add(
          "usage",
          `project ${project || "(none)"}, at replica ${replica}: the usage is ${dollars(shown)}, the rows cost ${dollars(expected)}`,
        );
      // Whether a request without a known cost that is charged its estimate counts differs among versions.
      const withoutCost = own.filter((row) => row.status === 200 && row.cost === null);
      const unpriced = withoutCost.filter(({ estimated }) => estimated === null).length;
      const shownUnpriced = usage.get(project)?.unpriced ?? 0;
      if (shownUnpriced < unpriced || shownUnpriced > withoutCost.length)
        add(
          "unpriced",
          `project ${project || "(none)"}, at replica ${replica}: ${shownUnpriced} requests without a cost are shown, there are ${unpriced}`,
        );
    }
  }
  violations.push(...checkThresholds(owners, rows, thresholds));
  return violations;
}

const percents = [50, 80, 100];

/** End users have none. A period that ended during the program is left out. */
function checkThresholds(
  owners: readonly Owner[],
  rows: readonly Row[],
  thresholds: readonly Threshold[],
): Violation[] {
  const violations: Violation[] = [];
  for (const owner of owners.filter(({ scope }) => scope !== "end_user"))
    for (const [period, limit] of Object.entries(owner.limits) as [Period, Nano][]) {
      const own = rows.filter(owner.owns);
      const names = new Set(own.map(({ at }) => periodOf(period, at)));
      if (names.size > 1) continue;
      const spent = sum(own.map(chargeOf));
      const sent = thresholds.filter(
        (each) =>
          each.scope === owner.scope &&
          each.name === owner.name &&
          each.period === period &&
          (owner.project === undefined || each.project === owner.project),
      );
      for (const percent of percents) {
        const ofPercent = sent.filter((each) => each.percent === percent);
        const count = ofPercent.length;
        // A lowered budget has thresholds of its own, except for those that were reported before.
        const ofLimit = ofPercent.filter(({ budget }) => nanoOf(budget) === limit).length;
        const isReached = spent >= (limit * percent) / 100 + own.length;
        const mayBeReached =
          spent + own.length >= (limit * percent) / 100 ||
          // The rest is too small for a request.
          (percent > 50 && spent >= limit / 2);
        const name = `${ownerName(owner)}, ${period}: ${dollars(spent)} of ${dollars(limit)} are spent`;
        // A budget that is lowered while no process runs reports none.
        if (isReached && count === 0 && owner.loweredAt === undefined)
          violations.push({
            law: "sums: missing threshold",
            text: `${name}, no event of ${percent} percent`,
          });
        if (!mayBeReached && ofLimit > 0)
          violations.push({
            law: "sums: early threshold",
            text: `${name}, an event of ${percent} percent`,
          });
        if (ofLimit > 1)
          violations.push({
            law: "sums: repeated threshold",
            text: `${name}, ${ofLimit} events of ${percent} percent`,
          });
      }
    }
  return violations;
}
