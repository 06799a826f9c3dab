/**
 * The spending of all replicas, as stored in PostgreSQL: a local copy of the sums of keys and projects in the spend
 * table for budgets, which are checked synchronously, plus the rows that are not in the table yet. The sums of the
 * current periods are read once, and then only changes. `LabelSpend` has those of end users and tags.
 *
 * Changes are found by `xmin`, the transaction that wrote a row: a read includes all transactions before the oldest one
 * that was still running, so the next read needs only the rows of that one and later ones. A time or a sequence would
 * miss a transaction that commits after a later one, and a time also the changes after a clock was set back. An index
 * of such a column would make every change of a sum more expensive: it would not be a heap-only update any more.
 */
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { type ChargedRow, SpendTally, spendKey } from "../sql/spend-tally.ts";
import type { PostgresDatabase } from "./database.ts";
import { type Batches, readSnapshot, rowsOf } from "./ledger-batches.ts";

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

interface ReadSums {
  readonly rows: readonly Row[];
  readonly read: LastRead;
  /** The rows are all sums, and not only the changed ones. */
  readonly isComplete: boolean;
}

/** The conditions on `period` are those of the indexes. */
const currentSums = `
  SELECT scope, id, period, dollars, pg_snapshot_xmin(pg_current_snapshot())::xid::text AS "end",
    pg_postmaster_start_time()::text AS server
  FROM (SELECT) AS always LEFT JOIN vexel.spent ON scope IN ('key', 'project') AND (
    (period LIKE '____-__-__' AND period IN ($1, $2)) OR
    (period NOT LIKE '____-__-__' AND period IN ($3, $4, 'total'))
  )`;
const changedSums = `${currentSums} AND age(spent.xmin) <= age($5::text::xid)`;

export class SharedSpend {
  readonly #db: PostgresDatabase;
  readonly #now: () => number;
  /** The sums of the spend table. */
  #dollars = new Map<string, number>();
  /** The sums of the rows that the spend table lacks. */
  #pending = new Map<string, number>();
  #last: LastRead | undefined;

  /** `now`: Unix milliseconds. */
  constructor(db: PostgresDatabase, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** Undefined: the database has not been read yet. */
  read(owner: BudgetOwner, period: string): number | undefined {
    if (this.#last === undefined) return undefined;
    const key = spendKey(owner, period);
    return (this.#dollars.get(key) ?? 0) + (this.#pending.get(key) ?? 0);
  }

  /** Rows that were just forwarded: they count until the next refresh reads them. */
  add(rows: readonly ChargedKeyRow[]): void {
    const tally = new SpendTally();
    for (const row of rows) tally.add({ ...row, budgets: null });
    for (const { scope, id, period, dollars } of tally.sums) {
      const key = spendKey({ scope, id }, period);
      this.#pending.set(key, (this.#pending.get(key) ?? 0) + dollars);
    }
  }

  /** Rejects while the database is unreachable. */
  async refresh(): Promise<void> {
    const { sums, charged } = await readSnapshot(this.#db, async (db, batches) => ({
      sums: await this.#readSums(db),
      charged: batches ? await readCharged(db, batches) : [],
    }));
    if (sums.isComplete) this.#dollars = new Map();
    for (const { scope, id, period, dollars } of sums.rows) {
      if (scope !== null) this.#dollars.set(spendKey({ scope, id }, period), dollars);
    }
    this.#last = sums.read;
    this.#pending = new Map();
    this.add(charged);
  }

  async #readSums(db: Queries): Promise<ReadSums> {
    const now = this.#now();
    // A request that began yesterday may still be charged to yesterday.
    const [today, yesterday] = [periodNames(now), periodNames(now - dayMs)];
    const values = [today.day, yesterday.day, today.month, yesterday.month];
    const periods = values.join(" ");
    const last = this.#last;
    if (last?.periods === periods) {
      const { rows } = await db.query<Row>(changedSums, [...values, last.end]);
      const read = { periods, ...(rows[0] as Row) };
      if (read.server === last.server) return { rows, read, isComplete: false };
    }
    const { rows } = await db.query<Row>(currentSums, values);
    return { rows, read: { periods, ...(rows[0] as Row) }, isComplete: true };
  }
}

type ChargedKeyRow = Omit<ChargedRow, "budgets">;

/** The rows of batches, summed by key, project and day. */
async function readCharged(db: Queries, batches: Batches): Promise<readonly ChargedKeyRow[]> {
  const parameters = new Parameters();
  const { rows } = await db.query<ChargedKeyRow>(
    `SELECT key_id AS "keyId", project, min(at)::float8 AS at,
       sum(cost) AS cost, sum(estimated_cost) AS "estimatedCost"
     FROM ${rowsOf(batches, parameters)}
     WHERE cost > 0 OR estimated_cost > 0 GROUP BY key_id, project, at / ${dayMs}`,
    parameters.values,
  );
  return rows;
}
