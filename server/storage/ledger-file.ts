/** The ledger's SQLite file: rows are written in groups, together with the spend table. */
import { Database, type Statement } from "bun:sqlite";
import { join } from "node:path";
import type { BudgetOwner } from "../lib/budget.ts";
import type { LedgerRow } from "./ledger-row.ts";
import { openDatabase } from "./open-database.ts";
import { prepareSpendTable, SpendTable, SpendTally } from "./spend-table.ts";

const columns = {
  requestId: "request_id TEXT PRIMARY KEY",
  at: "at INTEGER NOT NULL",
  endpoint: "endpoint TEXT NOT NULL",
  keyId: "key_id TEXT NOT NULL",
  model: "model TEXT",
  upstream: "upstream TEXT",
  targetModel: "target_model TEXT",
  attempts: "attempts INTEGER NOT NULL",
  status: "status INTEGER NOT NULL",
  error: "error TEXT",
  latencyMs: "latency_ms REAL NOT NULL",
  inputTokens: "input_tokens INTEGER",
  outputTokens: "output_tokens INTEGER",
  images: "images INTEGER",
  bytesIn: "bytes_in INTEGER NOT NULL",
  bytesOut: "bytes_out INTEGER NOT NULL",
  cachedInputs: "cached_inputs INTEGER",
  upstreamTokens: "upstream_tokens INTEGER",
  cost: "cost REAL",
  steps: "steps TEXT",
  project: "project TEXT",
  estimatedCost: "estimated_cost REAL",
} as const satisfies Record<keyof LedgerRow, string>;

/** Columns that had another name in earlier versions: the old name, the present one. */
const renamed = [
  ["fault", "error"],
  ["known_inputs", "cached_inputs"],
  ["estimate", "estimated_cost"],
] as const;

/** Columns that ledgers of the first version lack. They are added when such a ledger is opened. */
const later = [
  "cachedInputs",
  "upstreamTokens",
  "cost",
  "steps",
  "project",
  "estimatedCost",
] as const satisfies (keyof LedgerRow)[];

const names = Object.keys(columns) as (keyof LedgerRow)[];
const columnOf = (name: keyof LedgerRow): string => columns[name].split(" ")[0] as string;
const slots = names.map((_, at) => `?${at + 1}`).join(", ");
/** An existing row stays: a journal is recovered again if its process died before it could clear it. */
const insertion = `INSERT INTO ledger (${names.map(columnOf).join(", ")}) VALUES (${slots})
  ON CONFLICT (request_id) DO NOTHING`;
/** The values in column order. Without a loop, because this runs for every request. */
export const valuesOf = (row: LedgerRow) =>
  [
    row.requestId,
    row.at,
    row.endpoint,
    row.keyId,
    row.model,
    row.upstream,
    row.targetModel,
    row.attempts,
    row.status,
    row.error,
    row.latencyMs,
    row.inputTokens,
    row.outputTokens,
    row.images,
    row.bytesIn,
    row.bytesOut,
    row.cachedInputs,
    row.upstreamTokens,
    row.cost,
    row.steps,
    // Absent in journals of earlier versions.
    row.project ?? null,
    row.estimatedCost ?? null,
  ] as const;
/** The inverse of `valuesOf`. Columns that were added later are null. */
export const fromValues = (values: readonly unknown[]): LedgerRow =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? null])) as unknown as LedgerRow;
const listed = names.map((name) => `${columnOf(name)} AS "${name}"`).join(", ");

export interface LedgerFileOptions {
  readonly folder: string;
  /** 0: no limit. */
  readonly maxBytes: number;
}

export class LedgerFile {
  readonly path: string;
  readonly #db: Database;
  readonly #insert: Statement;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #spent: SpendTable;
  /** The request id of the row that was written last. */
  #last: string | undefined;

  constructor({ folder, maxBytes }: LedgerFileOptions) {
    this.path = join(folder, "ledger.db");
    this.#db = openDatabase({
      path: this.path,
      // Writes run on the thread that serves requests: never wait long for a lock.
      busyMs: 50,
      prepare: (db) => {
        // With WAL this survives a crash of the process; a power failure may lose the last moments.
        db.run("PRAGMA synchronous = NORMAL");
        // Request ids begin with the time, so the table is ordered by time and needs no index.
        db.run(
          `CREATE TABLE IF NOT EXISTS ledger (${Object.values(columns).join(", ")}) WITHOUT ROWID`,
        );
        migrateColumns(db);
        // A table of another shape is detected here and not by the first request.
        db.prepare(insertion).finalize();
        // Before the size limit is set, so that a full ledger can still create the table.
        prepareSpendTable(db);
        if (maxBytes > 0) db.run(`PRAGMA max_page_count = ${Math.ceil(maxBytes / 4096)}`);
      },
    });
    this.#spent = new SpendTable(this.#db);
    this.#insert = this.#db.prepare(insertion);
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#db.prepare("COMMIT");
  }

  /** Writes the rows and the spend table in one transaction. Throws SQLite errors. */
  write(rows: readonly LedgerRow[]): void {
    const tally = new SpendTally();
    this.#begin.run();
    try {
      for (const row of rows) {
        // A row that exists has been counted already.
        if (this.#insert.run(...valuesOf(row)).changes > 0) tally.add(row);
      }
      this.#spent.add(tally);
      this.#commit.run();
      this.#last = rows.at(-1)?.requestId ?? this.#last;
    } catch (error) {
      // SQLite may have rolled back by itself when the disk is full.
      if (this.#db.inTransaction) this.#db.run("ROLLBACK");
      throw error;
    }
  }

  /** Whether the last row can be read through a second connection, which has nothing in its cache. */
  hasLastRow(): boolean {
    if (this.#last === undefined) return true;
    try {
      using db = new Database(this.path, { readonly: true });
      const row = db.query("SELECT 1 FROM ledger WHERE request_id = ?1").get(this.#last);
      return row !== null;
    } catch {
      return false;
    }
  }

  /** Moves all rows from the write-ahead log, which may have been unlinked, into the database file. */
  checkpoint(): void {
    this.#db.run("PRAGMA wal_checkpoint(FULL)");
  }

  /** Deletes at most `limit` rows older than `before`, the oldest first; returns how many. */
  prune(before: number, limit: number): number {
    this.#spent.prune(before);
    return this.#db
      .query(
        `DELETE FROM ledger WHERE at < ?1 AND request_id IN
           (SELECT request_id FROM ledger ORDER BY request_id LIMIT ?2)`,
      )
      .run(before, limit).changes;
  }

  /** US dollars. `period`: a day, a month or "total", as in `lib/utc-periods.ts`. Pruned rows still count. */
  sumSpent(spender: BudgetOwner, period: string): number {
    return this.#spent.read(spender, period);
  }

  /** Newest first. */
  recent(limit: number): LedgerRow[] {
    return this.#db
      .query<LedgerRow, [number]>(`SELECT ${listed} FROM ledger ORDER BY request_id DESC LIMIT ?1`)
      .all(limit);
  }

  close(): void {
    this.#spent.close();
    for (const statement of [this.#insert, this.#begin, this.#commit]) statement.finalize();
    this.#db.close();
  }
}

/** Brings the table of an earlier version to the present columns. A table of another shape is left unchanged. */
function migrateColumns(db: Database): void {
  for (const [from, to] of renamed) {
    const present = columnsIn(db);
    if (present.has(from) && !present.has(to))
      db.run(`ALTER TABLE ledger RENAME COLUMN ${from} TO ${to}`);
  }
  const present = columnsIn(db);
  const missing = names.filter((name) => !present.has(columnOf(name)));
  if (missing.some((name) => !later.some((added) => added === name))) return;
  for (const name of missing) db.run(`ALTER TABLE ledger ADD COLUMN ${columns[name]}`);
}

const columnsIn = (db: Database): Set<string> =>
  new Set(
    db
      .query<{ name: string }, []>("PRAGMA table_info(ledger)")
      .all()
      .map(({ name }) => name),
  );
