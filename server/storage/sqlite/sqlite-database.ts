/**
 * SQLite as a SQL database of the stores. One connection runs one query or transaction after the other: a write of one
 * request is never part of the transaction of another. A lock of another process is awaited without blocking the
 * thread.
 */
import type { Database } from "bun:sqlite";
import { errorCode } from "../../lib/error-code.ts";
import { createSerialize, nextTurn } from "../../lib/tasks.ts";
import type { Queries, QueryResult, SqlDatabase, SqlValue } from "../sql/database.ts";

/** Another process, such as the command line, holds the write lock only for one change. */
const maxAttempts = 1000;
const retryMs = 5;

export class SqliteDatabase implements SqlDatabase {
  /** A transaction has the whole file for itself. */
  readonly lockRows = "";
  readonly #db: Database;
  readonly #inTurn = createSerialize();
  /** A commit waits for the disk, and the event loop with it: other requests run between two of them. */
  #afterCommit: Promise<void> | undefined;

  constructor(db: Database) {
    db.run("PRAGMA busy_timeout = 0");
    this.#db = db;
  }

  query<Row>(text: string, values: readonly SqlValue[] = []): Promise<QueryResult<Row>> {
    return this.#run(async () => {
      const result = await whenUnlocked(() => this.#send<Row>(text, values));
      if (!/^\s*SELECT/i.test(text)) this.#committed();
      return result;
    });
  }

  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#run(async () => {
      await whenUnlocked(() => this.#db.run("BEGIN IMMEDIATE"));
      try {
        const result = await work({ query: async (text, values = []) => this.#send(text, values) });
        this.#db.run("COMMIT");
        this.#committed();
        return result;
      } catch (error) {
        // A full disk has rolled it back already.
        if (this.#db.inTransaction) this.#db.run("ROLLBACK");
        throw error;
      }
    });
  }

  isDuplicate(error: unknown): boolean {
    return errorCode(error) === "SQLITE_CONSTRAINT_UNIQUE";
  }

  close(): Promise<void> {
    return this.#inTurn(async () => this.#db.close());
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#afterCommit;
      return work();
    });
  }

  #committed(): void {
    this.#afterCommit = nextTurn();
  }

  #send<Row>(text: string, values: readonly SqlValue[]): QueryResult<Row> {
    const statement = this.#db.query<Row, SqlValue[]>(inSqlite(text));
    if (statement.columnNames.length === 0) {
      return { rows: [], count: statement.run(...values).changes };
    }
    const rows = statement.all(...values);
    return { rows, count: rows.length };
  }
}

/** Numbered placeholders are `?1`, and tables are in the only schema of the file. */
const inSqlite = (text: string): string =>
  text.replaceAll("vexel.", "").replaceAll(/\$(\d+)/g, "?$1");

async function whenUnlocked<T>(work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return work();
    } catch (error) {
      // Also SQLITE_BUSY_RECOVERY: another process recovers the file after a crash.
      const isLocked = errorCode(error).startsWith("SQLITE_BUSY");
      if (!isLocked || attempt === maxAttempts) throw error;
      await Bun.sleep(retryMs);
    }
  }
}
