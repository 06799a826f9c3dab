/**
 * The ledger backlog, `backlog.db`: the rows that the database which replicas share does not have yet. They arrive in
 * groups, and leave in the order of their ids. With them it keeps the sums that the database returned: a process that
 * starts while the database is away goes on with them.
 */
import type { Database, Statement } from "bun:sqlite";
import { join } from "node:path";
import { periodNames } from "../../../contract/budget-periods.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import { dayMs } from "../../lib/timers.ts";
import { fromValues, valuesOf } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";
import { type ChargedRow, nanosOf, spentExtraRetentionMs } from "../sql/spend-tally.ts";
import { backlogMigrations } from "./migrations/backlog.ts";
import { openDatabase } from "./open-database.ts";
import { PreparedStatements } from "./prepared-statements.ts";

interface BacklogOptions {
  readonly folder: string;
  /** 0: no limit. */
  readonly maxBytes: number;
  /** Unix milliseconds, recorded with the migrations. */
  readonly now?: number;
}

interface Group extends Omit<ChargedRow, "cost" | "estimatedCost"> {
  readonly rows: number;
  readonly nanos: number;
}

export class LedgerBacklog {
  readonly path: string;
  readonly #db: Database;
  readonly #statements: PreparedStatements;
  readonly #insert: Statement;
  readonly #oldest: Statement<{ row: string }, [number]>;
  readonly #remove: Statement;
  readonly #storeSum: Statement;
  readonly #readSum: Statement<Pick<SpentSum, "nanos">, [string, string, string]>;
  /** The rows of earlier processes, as rows of the same owners and day. */
  readonly earlier: readonly ChargedRow[];
  /** Called for a row that is stored already, and was not appended by this object before. */
  onIgnored: ((row: LedgerRow) => void) | undefined;
  /** An append is repeated after a problem with the data folder: then a row is ignored that counted once. */
  readonly #appended = new WeakSet<LedgerRow>();
  #size: number;

  constructor({ folder, maxBytes, now = 0 }: BacklogOptions) {
    this.path = join(folder, "backlog.db");
    this.#db = openDatabase({
      path: this.path,
      // Writes run on the thread that serves requests: never wait long for a lock.
      busyMs: 50,
      migrations: backlogMigrations,
      now,
      prepare: (db) => {
        // With WAL this survives a crash of the process; a power failure may lose the last moments.
        db.run("PRAGMA synchronous = NORMAL");
        if (maxBytes > 0) db.run(`PRAGMA max_page_count = ${Math.ceil(maxBytes / 4096)}`);
      },
    });
    this.#statements = new PreparedStatements(this.#db);
    const { prepare } = this.#statements;
    this.#insert = prepare(
      "INSERT INTO backlog VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    );
    this.#oldest = prepare("SELECT row FROM backlog ORDER BY request_id LIMIT ?1");
    this.#remove = prepare("DELETE FROM backlog WHERE request_id = ?1");
    this.#storeSum = prepare(
      `INSERT INTO spent VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET nanos = max(nanos, excluded.nanos)`,
    );
    this.#readSum = prepare("SELECT nanos FROM spent WHERE scope = ?1 AND id = ?2 AND period = ?3");
    const { month } = periodNames(now - spentExtraRetentionMs);
    this.#db.run("DELETE FROM spent WHERE period < ?1", [month]);
    using groups = this.#db.prepare<Group, []>(
      `SELECT key_id AS "keyId", project, budgets, at / ${dayMs} * ${dayMs} AS at, count(*) AS rows,
         sum(nanos) AS nanos
       FROM backlog GROUP BY 1, 2, 3, 4`,
    );
    const found = groups.all();
    this.#size = found.reduce((sum, { rows }) => sum + rows, 0);
    this.earlier = found.map(({ nanos, ...group }) => ({
      ...group,
      cost: toDollars(nanos),
      estimatedCost: null,
    }));
  }

  /** The number of rows. */
  get size(): number {
    return this.#size;
  }

  /** Stores all rows or none. A row that is stored already is ignored. Nothing is spent yet: there are no sums. */
  async append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]> {
    const ignored = this.#db.transaction(() =>
      rows.filter((row) => {
        const { requestId, keyId, project, budgets, at } = row;
        const values = [requestId, keyId, project, budgets, at, nanosOf(row)];
        return this.#insert.run(...values, JSON.stringify(valuesOf(row))).changes === 0;
      }),
    )();
    this.#size += rows.length - ignored.length;
    for (const row of ignored) if (!this.#appended.has(row)) this.onIgnored?.(row);
    for (const row of rows) this.#appended.add(row);
    return [];
  }

  /** By request id. */
  oldest(limit: number): LedgerRow[] {
    return this.#oldest.all(limit).map(({ row }) => fromValues(JSON.parse(row) as unknown[]));
  }

  /** The shared database has these rows. `sums`: those that it returned. */
  remove(requestIds: readonly string[], sums: readonly SpentSum[]): void {
    this.#size -= this.#db.transaction(() => {
      // First, so that a file of the maximum size has room for the sums.
      const removed = requestIds.reduce((sum, id) => sum + this.#remove.run(id).changes, 0);
      for (const { scope, id, period, nanos } of sums) this.#storeSum.run(scope, id, period, nanos);
      return removed;
    })();
  }

  /** What the shared database last returned. */
  readSpent({ scope, id, period }: SpendKey): number {
    return this.#readSum.get(scope, id, period)?.nanos ?? 0;
  }

  /** Moves all rows from the write-ahead log, which may have been unlinked, into the database file. */
  checkpoint(): void {
    this.#db.run("PRAGMA wal_checkpoint(FULL)");
  }

  async close(): Promise<void> {
    this.#statements.finalize();
    this.#db.close();
  }
}
