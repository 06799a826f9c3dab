/**
 * What ledger rows are charged, and to which budget owners and periods: the same for the spend tables of SQLite and
 * PostgreSQL. A new day or month begins at midnight UTC, which resets its budgets.
 */
import { type Period, periodNames, periods } from "../../../contract/budget-periods.ts";
import {
  type BudgetOwner,
  endUsersAndTagsOf,
  firstKeyId,
  isEndUserOrTag,
} from "../../../contract/limits-and-budgets.ts";
import { toNanos } from "../../lib/nano-dollars.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";

/** A wrong clock must not prune the current day, so days are kept this much longer. */
export const spentExtraRetentionMs = 62 * dayMs;

/** The sums that are pruned. Each condition has an index of the spend table by period. */
export const expiringSums = [
  { index: "spent_by_day", condition: "scope IN ('key', 'project') AND period LIKE '____-__-__'" },
  { index: "spent_by_label", condition: "scope IN ('end_user', 'tag')" },
] as const;

/** The values of a row that decide what is charged, and to whom. */
export type ChargedRow = OwnedRow & Pick<LedgerRow, "at" | "cost" | "estimatedCost">;
type OwnedRow = Pick<LedgerRow, "keyId" | "project" | "budgets">;
type OwnedAt = OwnedRow & Pick<LedgerRow, "at">;

/**
 * The nano-dollars that a row is charged: its cost, plus the estimated cost of what may have been billed besides or
 * instead.
 */
export const nanosOf = ({
  cost,
  estimatedCost,
}: Pick<LedgerRow, "cost" | "estimatedCost">): number =>
  toNanos(cost ?? 0) + toNanos(estimatedCost ?? 0);

/** The budget owners that a row is charged to. A rotated key is charged like the first key of its line. */
const ownersOf = ({ keyId, project, budgets }: OwnedRow): BudgetOwner[] => [
  { scope: "key", id: firstKeyId(keyId) },
  ...(project ? [{ scope: "project", id: project } as const] : []),
  ...endUsersAndTagsOf(budgets, project),
];

/** The number of end users and tags is not bounded, so they have no sums that are never deleted. */
const periodsOf = (owner: BudgetOwner): readonly Period[] =>
  isEndUserOrTag(owner) ? expiringPeriods : periods;
const expiringPeriods = periods.filter((period) => period !== "total");

/** The sums that a row is added to. */
export function spendKeysOf(row: OwnedAt): SpendKey[] {
  const names = periodNames(row.at);
  return ownersOf(row).flatMap((owner) =>
    periodsOf(owner).map((period) => ({ ...owner, period: names[period] })),
  );
}

/** The same for rows that are charged to the same sums. */
export const chargedAlike = ({ keyId, project, budgets, at }: ChargedRow): string =>
  `${Math.floor(at / dayMs)} ${keyId}\n${project}\n${budgets}`;

/** Whether both rows are charged to the same sums. */
export const isChargedAlike = (one: OwnedAt, other: OwnedAt): boolean =>
  one.keyId === other.keyId &&
  one.project === other.project &&
  one.budgets === other.budgets &&
  Math.floor(one.at / dayMs) === Math.floor(other.at / dayMs);

export const spendKey = ({ scope, id, period }: SpendKey): string => `${scope} ${period} ${id}`;

/** What the rows of the same owners and day are charged. */
interface ChargedRows extends OwnedAt {
  nanos: number;
}

/** Sums rows: most have few keys and one day. */
export class SpendTally {
  readonly #charged = new Map<string, ChargedRows>();
  /** The entry of the row before: the next row is often of the same key. */
  #last: ChargedRows | undefined;

  /** `nanos`: 0 if the row is counted already. Its owners are in the tally anyway. */
  add(row: ChargedRow, nanos = nanosOf(row)): void {
    if (nanos === 0 && nanosOf(row) === 0) return;
    let charged = this.#last;
    if (!charged || !isChargedAlike(charged, row)) {
      const id = chargedAlike(row);
      charged = this.#charged.get(id);
      if (!charged) {
        const { keyId, project, budgets, at } = row;
        charged = { keyId, project, budgets, at, nanos: 0 };
        this.#charged.set(id, charged);
      }
      this.#last = charged;
    }
    charged.nanos += nanos;
  }

  get sums(): Iterable<SpentSum> {
    const sums = new Map<string, { -readonly [Name in keyof SpentSum]: SpentSum[Name] }>();
    for (const charged of this.#charged.values()) {
      for (const key of spendKeysOf(charged)) {
        const id = spendKey(key);
        const sum = sums.get(id);
        if (sum) sum.nanos += charged.nanos;
        else sums.set(id, { ...key, nanos: charged.nanos });
      }
    }
    return sums.values();
  }
}
