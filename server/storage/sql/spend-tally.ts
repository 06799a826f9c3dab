/**
 * What ledger rows are charged, and to which budget owners and periods: the same for the spend tables of SQLite and
 * PostgreSQL. A new day or month begins at midnight UTC, which resets its budgets.
 */
import { type Period, periodNames, periods } from "../../../contract/budget-periods.ts";
import {
  type BudgetOwner,
  firstKeyId,
  isLabelOwner,
  labelOwnersOf,
} from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";

/** A wrong clock must not prune the current day, so days are kept this much longer. */
export const spentExtraRetentionMs = 62 * dayMs;

/** The sums that are pruned. Each condition has an index of the spend table by period. */
export const expiringSums = [
  { index: "spent_by_day", condition: "scope IN ('key', 'project') AND period LIKE '____-__-__'" },
  { index: "spent_by_label", condition: "scope IN ('end_user', 'tag')" },
] as const;

/**
 * The amount that a row is charged: its cost, plus the estimated cost of what may have been billed besides or instead.
 */
export const dollarsOf = ({
  cost,
  estimatedCost,
}: Pick<LedgerRow, "cost" | "estimatedCost">): number => (cost ?? 0) + (estimatedCost ?? 0);

/** The budget owners that a row is charged to. A rotated key is charged like the first key of its line. */
export const ownersOf = ({ keyId, project, budgets }: OwnedRow): BudgetOwner[] => [
  { scope: "key", id: firstKeyId(keyId) },
  ...(project ? [{ scope: "project", id: project } as const] : []),
  ...labelOwnersOf(budgets, project),
];

export type OwnedRow = Pick<LedgerRow, "keyId" | "project" | "budgets">;

/** The number of end users and tags is not bounded, so they have no sums that are never deleted. */
export const periodsOf = (owner: BudgetOwner): readonly Period[] =>
  isLabelOwner(owner) ? expiringPeriods : periods;
const expiringPeriods = periods.filter((period) => period !== "total");

/** The rows that are charged to an owner in a period. */
export const chargedTo = (
  owner: BudgetOwner,
  period: string,
  rows: readonly LedgerRow[],
): LedgerRow[] =>
  rows.filter(
    (row) => isCharged(row, owner) && Object.values(periodNames(row.at)).includes(period),
  );

function isCharged({ keyId, project, budgets }: OwnedRow, owner: BudgetOwner): boolean {
  if (owner.scope === "key") return firstKeyId(keyId) === owner.id;
  if (owner.scope === "project") return project === owner.id;
  const charged = labelOwnersOf(budgets, project);
  return charged.some(({ scope, id }) => scope === owner.scope && id === owner.id);
}

export const sumDollars = (rows: readonly LedgerRow[]): number =>
  rows.reduce((sum, row) => sum + dollarsOf(row), 0);

/** The sum of a budget owner in a period such as 2026-11-15. */
export interface SpendKey extends BudgetOwner {
  readonly period: string;
}

export const spendKey = ({ scope, id }: BudgetOwner, period: string): string =>
  `${scope} ${period} ${id}`;

interface Sum extends SpendKey {
  dollars: number;
}

/** What the rows of the same owners and day are charged. */
interface ChargedRows extends OwnedRow, Pick<LedgerRow, "at"> {
  readonly day: number;
  dollars: number;
}

/** The values of a row that decide what is charged, and to whom. */
export type ChargedRow = OwnedRow & Pick<LedgerRow, "at" | "cost" | "estimatedCost">;

/** Sums the new rows of one transaction: most have few keys and one day. */
export class SpendTally {
  readonly #charged = new Map<string, ChargedRows>();
  /** The entry of the row before: the next row is often of the same key. */
  #last: ChargedRows | undefined;

  add(row: ChargedRow): void {
    const dollars = dollarsOf(row);
    if (dollars === 0) return;
    const { keyId, project, budgets, at } = row;
    const day = Math.floor(at / dayMs);
    let charged = this.#last;
    if (!charged || charged.day !== day || !hasSameOwners(charged, row)) {
      const id = `${day} ${keyId}\n${project}\n${budgets}`;
      charged = this.#charged.get(id);
      if (!charged) {
        charged = { keyId, project, budgets, at, day, dollars: 0 };
        this.#charged.set(id, charged);
      }
      this.#last = charged;
    }
    charged.dollars += dollars;
  }

  get sums(): Iterable<Sum> {
    const sums = new Map<string, Sum>();
    for (const charged of this.#charged.values()) {
      const names = periodNames(charged.at);
      for (const owner of ownersOf(charged)) {
        const { scope, id } = owner;
        for (const kind of periodsOf(owner)) {
          const period = names[kind];
          const key = spendKey(owner, period);
          const sum = sums.get(key);
          if (sum) sum.dollars += charged.dollars;
          else sums.set(key, { scope, id, period, dollars: charged.dollars });
        }
      }
    }
    return sums.values();
  }
}

const hasSameOwners = (a: OwnedRow, b: OwnedRow): boolean =>
  a.keyId === b.keyId && a.project === b.project && a.budgets === b.budgets;
