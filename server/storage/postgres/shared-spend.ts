/**
 * The spending of all replicas, as stored in PostgreSQL: a local copy of the spend table for budgets, which are
 * checked synchronously. The sums of the current periods are read once, and then only changes.
 *
 * Changes are found by `xmin`, the transaction that wrote a row: a read includes all transactions before the oldest one
 * that was still running, so the next read needs only the rows of that one and later ones. A time or a sequence would
 * miss a transaction that commits after a later one, and a time also the changes after a clock was set back. An index
 * of such a column would make every change of a sum more expensive: it would not be a heap-only update any more.
 */
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { SpendTally } from "../sqlite/spend-table.ts";
import type { PostgresDatabase } from "./database.ts";

/** One row per sum. If there is none, one row without a sum. */
interface Row {
  readonly scope: BudgetOwner["scope"] | null;
  readonly id: string;
  readonly period: string;
  readonly dollars: number;
  /** The oldest transaction that was running. */
  readonly end: string;
  /** When the server was started. After a failover, transactions may have the ids of lost ones. */
  readonly server: string;
}

interface LastRead {
  readonly periods: string;
  readonly end: string;
  readonly server: string;
}

const dayMs = 86_400_000;

/** The conditions on `period` are those of the indexes. */
const currentSums = `
  SELECT scope, id, period, dollars, pg_snapshot_xmin(pg_current_snapshot())::xid::text AS "end",
    pg_postmaster_start_time()::text AS server
  FROM (SELECT) AS always LEFT JOIN vexel.spent ON (
    (period LIKE '____-__-__' AND period IN ($1, $2)) OR
    (period NOT LIKE '____-__-__' AND period IN ($3, $4, 'total'))
  )`;
const changedSums = `${currentSums} AND age(spent.xmin) <= age($5::text::xid)`;

export class SharedSpend {
  readonly #db: PostgresDatabase;
  readonly #now: () => number;
  #dollars = new Map<string, number>();
  #last: LastRead | undefined;

  /** `now`: Unix milliseconds. */
  constructor(db: PostgresDatabase, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** Undefined: the database has not been read yet. */
  read({ scope, id }: BudgetOwner, period: string): number | undefined {
    if (this.#last === undefined) return undefined;
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
    const now = this.#now();
    // A request that began yesterday may still be charged to yesterday.
    const [today, yesterday] = [periodNames(now), periodNames(now - dayMs)];
    const values = [today.day, yesterday.day, today.month, yesterday.month];
    const periods = values.join(" ");
    const last = this.#last;
    if (last?.periods === periods) {
      const { rows } = await this.#db.query<Row>(changedSums, [...values, last.end]);
      if (rows[0]?.server === last.server) return this.#set(rows, periods);
    }
    const { rows } = await this.#db.query<Row>(currentSums, values);
    this.#dollars = new Map();
    this.#set(rows, periods);
  }

  #set(rows: readonly Row[], periods: string): void {
    for (const { scope, id, period, dollars } of rows) {
      if (scope !== null) this.#dollars.set(keyOf(scope, id, period), dollars);
    }
    const { end, server } = rows[0] as Row;
    this.#last = { periods, end, server };
  }
}

const keyOf = (scope: string, id: string, period: string): string => `${scope} ${period} ${id}`;
