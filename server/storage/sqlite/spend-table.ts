/**
 * The spend table: what each key and project has spent by day, by month and in total, and by day and by month what each
 * end user and tag with a budget has spent. A new day or month begins at midnight UTC, which resets its budgets. The
 * table is written in the same transaction as the ledger rows, so the two always agree, and it stays when old rows are
 * pruned.
 */
import type { Statement } from "bun:sqlite";
import { type Period, periodNames, periods } from "../../../contract/budget-periods.ts";
import {
  type BudgetOwner,
  firstKeyId,
  isLabelOwner,
  labelOwnersOf,
} from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** A wrong clock must not prune the current day, so days are kept this much longer. */
export const spentExtraRetentionMs = 62 * dayMs;

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

type OwnedRow = Pick<LedgerRow, "keyId" | "project" | "budgets">;

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

type PrimaryKey = readonly [scope: string, id: string, period: string];

interface Sum extends BudgetOwner {
  readonly period: string;
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
          const key = `${scope} ${period} ${id}`;
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

export class SpendTable {
  readonly #add: Statement;
  readonly #read: Statement<{ dollars: number }, [string, string, string]>;
  readonly #sumAt: Statement<
    { scope: string; id: string; period: string },
    [...PrimaryKey, number]
  >;
  readonly #prune: Statement;
  readonly #pruneRest: Statement;
  /** The scan for days before `day`. `after`: the last sum that was examined. Undefined: all were. */
  #scan: { readonly day: string; readonly after: PrimaryKey | undefined } | undefined;

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(
      `INSERT INTO spent VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET dollars = dollars + excluded.dollars`,
    );
    this.#read = statements.prepare(
      "SELECT dollars FROM spent WHERE scope = ?1 AND id = ?2 AND period = ?3",
    );
    this.#sumAt = statements.prepare(
      `SELECT scope, id, period FROM spent WHERE (scope, id, period) > (?1, ?2, ?3)
       ORDER BY scope, id, period LIMIT 1 OFFSET ?4`,
    );
    const prune = `DELETE FROM spent WHERE (scope, id, period) > (?1, ?2, ?3)
      AND (period LIKE '____-__-__' OR scope IN ('end_user', 'tag')) AND period < ?4`;
    this.#prune = statements.prepare(`${prune} AND (scope, id, period) <= (?5, ?6, ?7)`);
    this.#pruneRest = statements.prepare(prune);
  }

  /** Runs inside the transaction that writes the rows. */
  add({ sums }: SpendTally): void {
    for (const { scope, id, period, dollars } of sums) this.#add.run(scope, id, period, dollars);
  }

  read({ scope, id }: BudgetOwner, period: string): number {
    return this.#read.get(scope, id, period)?.dollars ?? 0;
  }

  /**
   * Deletes days long before `before`. Months and totals of keys and projects stay. No index has the days in their
   * order, so each call examines the next `limit` sums, and all sums are examined once a day. True: there are more to
   * examine.
   */
  prune(before: number, limit: number): boolean {
    const { day } = periodNames(before - spentExtraRetentionMs);
    if (this.#scan?.day !== day) this.#scan = { day, after: ["", "", ""] };
    const { after } = this.#scan;
    if (!after) return false;
    const last = this.#sumAt.get(...after, limit - 1);
    if (last) {
      const { scope, id, period } = last;
      this.#prune.run(...after, day, scope, id, period);
      this.#scan = { day, after: [scope, id, period] };
    } else {
      this.#pruneRest.run(...after, day);
      this.#scan = { day, after: undefined };
    }
    return last !== null;
  }
}
