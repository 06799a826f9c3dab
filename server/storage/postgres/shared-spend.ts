/**
 * The sums of the spend table, as this replica last read them: budgets are checked synchronously. The sums of keys and
 * projects in the current periods are read once, and then only changes. Those of end users and tags, of which there may
 * be millions, are read by name.
 *
 * Changes are found by `xmin`, the transaction that wrote a row: a read includes all transactions before the oldest one
 * that was still running, so the next read needs only the rows of that one and later ones. A time or a sequence would
 * miss a transaction that commits after a later one, and a time also the changes after a clock was set back. An index
 * of such a column would make every change of a sum more expensive: it would not be a heap-only update any more.
 */
import { periodNames } from "../../../contract/budget-periods.ts";
import { isEndUserOrTag } from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";
import type { SqlInteger } from "../sql/database.ts";
import { spendKey } from "../sql/spend-tally.ts";
import type { PostgresDatabase } from "./database.ts";
import { jsonParameter, postgresText } from "./json-parameter.ts";

interface SumRow extends SpendKey {
  readonly nanos: SqlInteger;
}

/** One row per sum. If there is none, one row without a sum. */
interface Row extends Omit<SumRow, "scope"> {
  readonly scope: SpendKey["scope"] | null;
  /** The oldest transaction that was running. */
  readonly end: string;
  /** When the server was started. After a failover, transactions may have the ids of lost ones. */
  readonly server: string;
}

interface LastRead extends Pick<Row, "end" | "server"> {
  readonly periods: string;
}

/** The conditions on `period` are those of the indexes. */
const currentSums = `
  SELECT scope, id, period, nanos, pg_snapshot_xmin(pg_current_snapshot())::xid::text AS "end",
    pg_postmaster_start_time()::text AS server
  FROM (SELECT) AS always LEFT JOIN vexel.spent ON scope IN ('key', 'project') AND (
    (period LIKE '____-__-__' AND period IN ($1, $2)) OR
    (period NOT LIKE '____-__-__' AND period IN ($3, $4, 'total'))
  )`;
const changedSums = `${currentSums} AND age(spent.xmin) <= age($5::text::xid)`;

const namedSums = `
  SELECT scope, id, period, nanos FROM vexel.spent
  JOIN json_to_recordset($1::text::json) AS named (scope text, id text, period text)
    USING (scope, id, period)`;

export class SharedSpend {
  readonly #db: Pick<PostgresDatabase, "query">;
  readonly #now: () => number;
  /** Of keys and projects, in nano-dollars. */
  #sums = new Map<string, number>();
  #last: LastRead | undefined;

  /** `now`: Unix milliseconds. */
  constructor(db: Pick<PostgresDatabase, "query">, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** False: the database could not be reached yet. */
  get isRead(): boolean {
    return this.#last !== undefined;
  }

  /** Of a key or a project, in nano-dollars. */
  read(key: SpendKey): number {
    return this.#sums.get(spendKey(key)) ?? 0;
  }

  /** Sums that this replica has just changed. */
  raise(sums: readonly SpentSum[]): void {
    for (const sum of sums)
      if (!isEndUserOrTag(sum) && sum.nanos > this.read(sum))
        this.#sums.set(spendKey(sum), sum.nanos);
  }

  /** Returns the sums of keys and projects that have changed. Rejects while the database is unreachable. */
  async refresh(): Promise<readonly SpentSum[]> {
    const now = this.#now();
    // A request that began yesterday may still be charged to yesterday.
    const [today, yesterday] = [periodNames(now), periodNames(now - dayMs)];
    const values = [today.day, yesterday.day, today.month, yesterday.month];
    const periods = values.join(" ");
    const last = this.#last;
    let rows: readonly Row[] = [];
    if (last?.periods === periods)
      ({ rows } = await this.#db.query<Row>(changedSums, [...values, last.end]));
    if (!last || rows[0]?.server !== last.server) {
      ({ rows } = await this.#db.query<Row>(currentSums, values));
      this.#sums = new Map();
    }
    this.#last = { periods, ...(rows[0] as Row) };
    const sums = rows.flatMap(({ scope, ...sum }) =>
      scope === null ? [] : sumOf({ scope, ...sum }),
    );
    for (const sum of sums) this.#sums.set(spendKey(sum), sum.nanos);
    return sums;
  }

  /** Returns the sums of these owners. Rejects while the database is unreachable. */
  async readNamed(owners: readonly SpendKey[]): Promise<readonly SpentSum[]> {
    if (owners.length === 0) return [];
    // Without their other values: they are accounts.
    const keys = owners.map(({ scope, id, period }) => ({ scope, id, period }));
    const { rows } = await this.#db.query<SumRow>(namedSums, [jsonParameter(keys)]);
    const stored = new Map(rows.map((row) => [spendKey(row), Number(row.nanos)]));
    return keys.map((key) => ({
      ...key,
      nanos: stored.get(spendKey({ ...key, id: postgresText(key.id) })) ?? 0,
    }));
  }
}

const sumOf = ({ scope, id, period, nanos }: SumRow): SpentSum => ({
  scope,
  id,
  period,
  nanos: Number(nanos),
});
