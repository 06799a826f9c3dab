/**
 * What end users and tags with a budget have spent on all replicas, as stored in PostgreSQL. There may be millions of
 * them, so a sum is read when a budget needs it, and the sums that were read long ago are deleted.
 */
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { type ChargedRow, type SpendKey, SpendTally, spendKey } from "../sql/spend-tally.ts";
import type { PostgresDatabase } from "./database.ts";
import { jsonParameter } from "./json-parameter.ts";
import { type Batches, readSnapshot, rowsOf } from "./ledger-batches.ts";

interface ReadSum extends SpendKey {
  readonly dollars: number;
}

/** At least as many as one process has budgets in memory. */
const maxSums = 50_000;

export class LabelSpend {
  readonly #db: PostgresDatabase;
  /** The sums that were read, the oldest first. */
  readonly #dollars = new Map<string, number>();
  /** The sums to be read. */
  #wanted = new Map<string, SpendKey>();

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Undefined: it has not been read. */
  read(owner: BudgetOwner, period: string): number | undefined {
    return this.#dollars.get(spendKey(owner, period));
  }

  /** The next `load` reads these sums. */
  want(sums: readonly SpendKey[]): void {
    for (const sum of sums) this.#wanted.set(keyOf(sum), sum);
  }

  /** Rows that were just forwarded. */
  add(rows: readonly ChargedRow[]): void {
    const tally = new SpendTally();
    for (const row of rows) if (row.budgets !== null) tally.add(row);
    for (const sum of tally.sums) {
      const known = this.#dollars.get(keyOf(sum));
      if (known !== undefined) this.#dollars.set(keyOf(sum), known + sum.dollars);
    }
  }

  /** Never while rows are forwarded, which would count twice or not at all. Rejects while the database is unreachable. */
  async load(): Promise<void> {
    if (this.#wanted.size === 0) return;
    const wanted = this.#wanted;
    this.#wanted = new Map();
    const { sums, charged } = await readSnapshot(this.#db, async (db, batches) => ({
      sums: await readSums(db, [...wanted.values()]),
      charged: batches ? await readCharged(db, batches) : [],
    }));
    for (const key of wanted.keys()) {
      this.#dollars.delete(key);
      this.#dollars.set(key, 0);
    }
    const pending = new SpendTally();
    for (const row of charged) pending.add(row);
    for (const sum of [...sums, ...pending.sums]) {
      const key = keyOf(sum);
      if (wanted.has(key)) this.#dollars.set(key, (this.#dollars.get(key) ?? 0) + sum.dollars);
    }
    for (const key of this.#dollars.keys()) {
      if (this.#dollars.size <= maxSums) break;
      this.#dollars.delete(key);
    }
  }
}

const keyOf = (sum: SpendKey): string => spendKey(sum, sum.period);

async function readSums(db: Queries, wanted: readonly SpendKey[]): Promise<readonly ReadSum[]> {
  const { rows } = await db.query<ReadSum>(
    `SELECT scope, id, period, dollars FROM vexel.spent
     JOIN json_to_recordset($1::text::json) AS wanted (scope text, id text, period text)
       USING (scope, id, period)`,
    [jsonParameter(wanted)],
  );
  return rows;
}

/** The rows of batches, summed by owners and day. */
async function readCharged(db: Queries, batches: Batches): Promise<readonly ChargedRow[]> {
  const parameters = new Parameters();
  const { rows } = await db.query<ChargedRow>(
    `SELECT '' AS "keyId", project, budgets, min(at)::float8 AS at,
       sum(cost) AS cost, sum(estimated_cost) AS "estimatedCost"
     FROM ${rowsOf(batches, parameters)}
     WHERE budgets IS NOT NULL AND (cost > 0 OR estimated_cost > 0)
     GROUP BY project, budgets, at / ${dayMs}`,
    parameters.values,
  );
  return rows;
}
