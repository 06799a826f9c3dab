/**
 * The ledger's SQLite file: rows are written in groups, together with the spend table and the roll-ups, and
 * pruned when their retention is over.
 */
import type { Database, Statement } from "bun:sqlite";
import { join } from "node:path";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import { valuesOf } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { ledgerColumns, listedColumns, usageExtraRetentionMs } from "../sql/ledger-columns.ts";
import { type ChargedRow, chargedTo, SpendTally, sumDollars } from "../sql/spend-tally.ts";
import { LabelBounds } from "./label-bounds.ts";
import { ledgerMigrations } from "./migrations/ledger.ts";
import { openDatabase } from "./open-database.ts";
import { PreparedStatements } from "./prepared-statements.ts";
import { SpendTable } from "./spend-table.ts";
import { chargedColumns, UnforwardedSums } from "./unforwarded-sums.ts";
import { UsageTables, UsageTally } from "./usage-table.ts";

const slots = ledgerColumns.map((_, at) => `?${at + 1}`).join(", ");
/** An existing row stays: an outbox is recovered again if its process died before it could mark the row as stored. */
const insertion = `INSERT INTO ledger (${ledgerColumns.join(", ")}) VALUES (${slots})
  ON CONFLICT (request_id) DO NOTHING`;

interface SqliteLedgerOptions {
  readonly folder: string;
  /** 0: no limit. */
  readonly maxBytes: number;
  /** Unix milliseconds, recorded with the migrations. */
  readonly now?: number;
}

const prepareTables = (statements: PreparedStatements) => ({
  spent: new SpendTable(statements),
  used: new UsageTables(statements),
  labels: new LabelBounds(statements),
  insert: statements.prepare(insertion),
});

export class SqliteLedgerStore implements LedgerStore {
  readonly path: string;
  readonly #db: Database;
  readonly #statements: PreparedStatements;
  readonly #tables: ReturnType<typeof prepareTables>;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #find: Statement;
  /** Undefined: the rows are not forwarded. */
  #unforwarded: UnforwardedSums | undefined;

  constructor({ folder, maxBytes, now = 0 }: SqliteLedgerOptions) {
    this.path = join(folder, "ledger.db");
    this.#db = openDatabase({
      path: this.path,
      // Writes run on the thread that serves requests: never wait long for a lock.
      busyMs: 50,
      migrations: ledgerMigrations,
      now,
      prepare: (db) => {
        // With WAL this survives a crash of the process; a power failure may lose the last moments.
        db.run("PRAGMA synchronous = NORMAL");
        // A table that is missing or of another shape is detected here and not by the first request.
        const statements = new PreparedStatements(db);
        prepareTables(statements);
        statements.finalize();
        // After the migrations, so that a full ledger can still be migrated.
        if (maxBytes > 0) db.run(`PRAGMA max_page_count = ${Math.ceil(maxBytes / 4096)}`);
      },
    });
    const statements = new PreparedStatements(this.#db);
    this.#statements = statements;
    this.#tables = prepareTables(statements);
    this.#begin = statements.prepare("BEGIN IMMEDIATE");
    this.#commit = statements.prepare("COMMIT");
    this.#find = statements.prepare("SELECT 1 FROM ledger WHERE request_id = ?1");
  }

  /**
   * Synchronous on the calling thread, which serves requests: decision 46 says why it is no other thread.
   */
  async append(rows: readonly LedgerRow[]): Promise<void> {
    this.write(rows);
  }

  /** Writes the rows and everything that is derived from them in one transaction. Throws SQLite errors. */
  write(rows: readonly LedgerRow[]): void {
    const tables = this.#tables;
    const spent = new SpendTally();
    const used = new UsageTally(tables.labels);
    const added: LedgerRow[] = [];
    this.#begin.run();
    try {
      for (const row of rows) {
        // A row that exists has been counted already.
        if (tables.insert.run(...valuesOf(row)).changes === 0) continue;
        spent.add(row);
        used.add(row);
        added.push(row);
      }
      tables.spent.add(spent);
      tables.used.add(used);
      this.#commit.run();
      this.#unforwarded?.add(added);
    } catch (error) {
      // SQLite may have rolled back by itself when the disk is full.
      if (this.#db.inTransaction) this.#db.run("ROLLBACK");
      throw error;
    }
  }

  /** Moves all rows from the write-ahead log, which may have been unlinked, into the database file. */
  checkpoint(): void {
    this.#db.run("PRAGMA wal_checkpoint(FULL)");
  }

  async prune(before: number, limit: number): Promise<boolean> {
    const { used, spent } = this.#tables;
    const usageBefore = before - usageExtraRetentionMs;
    const wholeDaysBefore = usageBefore - (usageBefore % dayMs);
    let rest = limit - this.#pruneRows(before, limit);
    if (rest > 0) rest -= used.prune(wholeDaysBefore, rest);
    if (rest > 0) rest -= spent.prune(before, rest);
    return rest === 0;
  }

  #pruneRows(before: number, limit: number): number {
    const pruned = this.#db
      .query<ChargedRow, [number, number]>(
        `DELETE FROM ledger WHERE (at, request_id) IN
           (SELECT at, request_id FROM ledger WHERE at < ?1 ORDER BY at, request_id LIMIT ?2)
         RETURNING ${chargedColumns}`,
      )
      .all(before, limit);
    this.#unforwarded?.remove(pruned);
    return pruned.length;
  }

  /**
   * US dollars. `period`: a day, a month or "total", as in `contract/budget-periods.ts`. `pending`: rows that may or may
   * not be stored yet; each counts once. Pruned rows still count. Synchronous, because a budget is checked and reserved
   * in one step.
   */
  sumSpent(owner: BudgetOwner, period: string, pending: readonly LedgerRow[] = []): number {
    const unstored = chargedTo(owner, period, pending).filter(
      ({ requestId }) => this.#find.get(requestId) === null,
    );
    return this.#tables.spent.read(owner, period) + sumDollars(unstored);
  }

  /** By request id: the rows that are forwarded next to the ledger that replicas share. */
  oldest(limit: number): LedgerRow[] {
    return this.#db
      .query<LedgerRow, [number]>(
        `SELECT ${listedColumns} FROM ledger ORDER BY request_id LIMIT ?1`,
      )
      .all(limit);
  }

  /** Removes rows that were forwarded. Their sums and their usage stay. */
  remove(requestIds: readonly string[]): void {
    const statement = this.#db.query<ChargedRow, [string]>(
      `DELETE FROM ledger WHERE request_id = ?1 RETURNING ${chargedColumns}`,
    );
    const removed = this.#db.transaction(() =>
      requestIds.flatMap((requestId) => statement.all(requestId)),
    )();
    this.#unforwarded?.remove(removed);
  }

  /** The sums of all rows, which later writes and deletions keep up to date. The first call reads all rows. */
  sumUnforwarded(): UnforwardedSums {
    this.#unforwarded ??= new UnforwardedSums(this.#db);
    return this.#unforwarded;
  }

  async close(): Promise<void> {
    this.#statements.finalize();
    this.#db.close();
  }
}
