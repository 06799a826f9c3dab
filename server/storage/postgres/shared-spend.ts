/**
 * The spending of all replicas, as stored in PostgreSQL: a local copy of the spend table for budgets, which are
 * checked synchronously. The sums of the current periods are read once, and then only changes.
 */
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { SpendTally } from "../sqlite/spend-table.ts";
import type { PostgresDatabase } from "./database.ts";

interface Row extends BudgetOwner {
  readonly period: string;
  readonly dollars: number;
  readonly updatedAt: number;
}

/** A change becomes visible when its transaction commits, which is later than its time by at most this. */
const overlapMs = 30_000;

export class SharedSpend {
  readonly #db: PostgresDatabase;
  readonly #now: () => number;
  #dollars = new Map<string, number>();
  #updatedAt: number | undefined;

  /** `now`: Unix milliseconds. */
  constructor(db: PostgresDatabase, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** Undefined: the database has not been read yet. */
  read({ scope, id }: BudgetOwner, period: string): number | undefined {
    if (this.#updatedAt === undefined) return undefined;
    return this.#dollars.get(keyOf(scope, id, period)) ?? 0;
  }

  /** Rows that were just forwarded: they count until the next refresh reads them. */
  add(rows: readonly LedgerRow[]): void {
    const tally = new SpendTally();
    for (const row of rows) tally.add(row);
    for (const { scope, id, period, dollars } of tally.sums) {
      const key = keyOf(scope, id, period);
      this.#dollars.set(key, (this.#dollars.get(key) ?? 0) + dollars);
    }
  }

  /** Rejects while the database is unreachable. */
  async refresh(): Promise<void> {
    const { day, month } = periodNames(this.#now());
    const { rows } = await this.#db.query<Row>(
      `SELECT scope, id, period, dollars, updated_at::float8 AS "updatedAt" FROM vexel.spent
       WHERE (period = 'total' OR period = $1 OR period LIKE $1 || '-__') AND updated_at >= $2`,
      [month, (this.#updatedAt ?? overlapMs) - overlapMs],
    );
    this.#updatedAt ??= 0;
    for (const { scope, id, period, dollars, updatedAt } of rows) {
      this.#dollars.set(keyOf(scope, id, period), dollars);
      this.#updatedAt = Math.max(this.#updatedAt, updatedAt);
    }
    this.#evictBefore(day, month);
  }

  /**
   * Evicts days and months that are over, once there are many entries. Not earlier: a request that began yesterday may
   * still be charged to yesterday.
   */
  #evictBefore(day: string, month: string): void {
    if (this.#dollars.size < 100_000) return;
    const isCurrent = (key: string): boolean =>
      key.includes(" total ") || key.includes(` ${day} `) || key.includes(` ${month} `);
    this.#dollars = new Map([...this.#dollars].filter(([key]) => isCurrent(key)));
  }
}

const keyOf = (scope: string, id: string, period: string): string => `${scope} ${period} ${id}`;
