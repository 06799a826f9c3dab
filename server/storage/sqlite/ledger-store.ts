/**
 * The ledger's SQLite file: rows are written in groups, together with the spend table and the roll-ups, and
 * pruned when their retention is over.
 */
import type { Database, Statement } from "bun:sqlite";
import { join } from "node:path";
import { dayMs } from "../../lib/timers.ts";
import { valuesOf } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { LedgerStore, SpendKey, SpentSum } from "../ports/ledger-store.ts";
import { ledgerColumns, usageExtraRetentionMs } from "../sql/ledger-columns.ts";
import { SpendTally } from "../sql/spend-tally.ts";
import { LabelBounds } from "./label-bounds.ts";
import { ledgerMigrations } from "./migrations/ledger.ts";
import { openDatabase } from "./open-database.ts";
import { PreparedStatements } from "./prepared-statements.ts";
import { SpendTable } from "./spend-table.ts";
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
  }

  /**
   * Synchronous on the calling thread, which serves requests: decision 46 says why it is no other thread.
   */
  async append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]> {
    return this.write(rows);
  }

  /** Writes the rows and everything that is derived from them in one transaction. Throws SQLite errors. */
  write(rows: readonly LedgerRow[]): readonly SpentSum[] {
    const tables = this.#tables;
    const spent = new SpendTally();
    const used = new UsageTally(tables.labels);
    this.#begin.run();
    try {
      for (const row of rows) {
        // A row that exists has been counted already.
        const isNew = tables.insert.run(...valuesOf(row)).changes > 0;
        if (isNew) used.add(row);
        spent.add(row, isNew ? undefined : 0);
      }
      const sums = tables.spent.add(spent);
      tables.used.add(used);
      this.#commit.run();
      return sums;
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
    return this.#db
      .query(
        `DELETE FROM ledger WHERE (at, request_id) IN
           (SELECT at, request_id FROM ledger WHERE at < ?1 ORDER BY at, request_id LIMIT ?2)`,
      )
      .run(before, limit).changes;
  }

  /** Synchronous, because a budget is checked and reserved in one step. Pruned rows still count. */
  readSpent(key: SpendKey): number {
    return this.#tables.spent.read(key);
  }

  async close(): Promise<void> {
    this.#statements.finalize();
    this.#db.close();
  }
}
