/**
 * Data migration from SQLite: moves the databases of a data folder into an empty PostgreSQL database, in one
 * transaction: all rows or none. The data folder is not changed.
 */
import { join } from "node:path";
import { hourMs } from "../../lib/timers.ts";
import type { Queries } from "../sql/database.ts";
import { hasLabel, type RollUp, rollUps } from "../sql/roll-ups.ts";
import { StoreError } from "../sqlite/open-database.ts";
import { readTable, type TableRow } from "../sqlite/read-tables.ts";
import type { PostgresDatabase } from "./database.ts";
import { jsonParameter } from "./json-parameter.ts";
import { createDay, dayOf } from "./ledger-partitions.ts";

interface MovedTable {
  readonly table: string;
  readonly rows: number;
}

interface TableMove {
  readonly table: string;
  /** Values that the table of SQLite may lack. */
  readonly defaults?: TableRow;
  readonly before?: (db: Queries, rows: readonly TableRow[]) => Promise<void>;
  /** A statement that runs after all rows are inserted. */
  readonly after?: string;
}

/** SQLite's roll-ups do not have the request ids of their rows. */
const boundIds = ({ table, columns }: RollUp): string => {
  const names = columns.map((name) => `coalesce(${name}, '') AS ${name}`).join(", ");
  return `
    UPDATE vexel.${table} AS usage SET first_id = found.first_id, last_id = found.last_id
    FROM (
      SELECT hour, ${columns.join(", ")}, min(request_id) AS first_id, max(request_id) AS last_id
      FROM (SELECT at - at % ${hourMs} AS hour, request_id, ${names} FROM vexel.ledger) AS named
      GROUP BY hour, ${columns.join(", ")}
    ) AS found
    WHERE (${["hour", ...columns].map((name) => `usage.${name}`).join(", ")})
      = (${["hour", ...columns].map((name) => `found.${name}`).join(", ")})`;
};

/** Bounds that include every request id: a label is no column of the ledger. */
const anyIds = { first_id: "", last_id: "~" };

function moveRollUp(rollUp: RollUp): TableMove {
  const { table, start } = rollUp;
  if (start === "day") return { table };
  return hasLabel(rollUp)
    ? { table, defaults: anyIds }
    : { table, defaults: { first_id: "", last_id: "" }, after: boundIds(rollUp) };
}

/** The tables of each file, with the same columns in both databases. */
const files: Readonly<Record<string, readonly TableMove[]>> = {
  "vexel.db": [
    { table: "keys" },
    { table: "config_entities" },
    { table: "users" },
    { table: "sessions" },
    { table: "admin_tokens" },
    { table: "audit_log" },
    { table: "statements" },
    { table: "revisions" },
  ],
  "ledger.db": [
    { table: "ledger", before: createDays },
    { table: "spent" },
    ...Object.values(rollUps).map(moveRollUp),
  ],
  "jobs.db": [
    { table: "files" },
    { table: "uploads" },
    { table: "upload_parts" },
    { table: "file_space" },
    { table: "jobs" },
    { table: "job_ranges" },
  ],
  "events.db": [
    { table: "events" },
    { table: "deliveries" },
    { table: "marks" },
    { table: "webhook_endpoints" },
    { table: "alerts" },
    { table: "leases" },
  ],
};

const batchRows = 1000;

/** The gateway of the data folder must be stopped, and its outbox recovered. */
export function moveFromSqlite(db: PostgresDatabase, folder: string): Promise<MovedTable[]> {
  return db.transaction(async (transaction) => {
    await requireEmpty(transaction);
    // The migrations have created its rows.
    await transaction.query("DELETE FROM vexel.revisions");
    const moved: MovedTable[] = [];
    for (const [name, tables] of Object.entries(files)) {
      const path = join(folder, name);
      for (const move of tables) moved.push(await moveTable(transaction, path, move));
    }
    await transaction.query(
      "INSERT INTO vexel.revisions (name, value) VALUES ('keys', 0), ('config', 0) ON CONFLICT DO NOTHING",
    );
    await transaction.query(
      "SELECT setval(pg_get_serial_sequence('vexel.events', 'seq'), (SELECT coalesce(max(seq), 0) + 1 FROM vexel.events), false)",
    );
    return moved;
  });
}

async function requireEmpty(db: Queries): Promise<void> {
  for (const table of ["keys", "config_entities", "users", "ledger", "events", "audit_log"]) {
    const { rows } = await db.query(`SELECT 1 FROM vexel.${table} LIMIT 1`);
    if (rows.length === 0) continue;
    throw new StoreError(
      `The database (DATABASE_URL) is not empty: the table vexel.${table} has rows. A data folder is moved into an empty database, before the first gateway uses it.`,
    );
  }
}

async function moveTable(db: Queries, path: string, move: TableMove): Promise<MovedTable> {
  const { table, defaults = {}, before, after } = move;
  let count = 0;
  for (const batch of readTable(path, table, batchRows)) {
    await before?.(db, batch);
    const complete = batch.map((row) => ({ ...defaults, ...row }));
    await db.query(
      `INSERT INTO vexel.${table} OVERRIDING SYSTEM VALUE
       SELECT * FROM jsonb_populate_recordset(NULL::vexel.${table}, $1::text::jsonb)`,
      [jsonParameter(complete)],
    );
    count += batch.length;
  }
  if (after !== undefined) await db.query(after);
  const { rows } = await db.query<{ count: string }>(
    `SELECT count(*) AS count FROM vexel.${table}`,
  );
  if (Number(rows[0]?.count) !== count) {
    throw new StoreError(
      `The table ${table} has ${count} rows, and ${rows[0]?.count} of them arrived. Nothing was moved.`,
    );
  }
  return { table, rows: count };
}

async function createDays(db: Queries, rows: readonly TableRow[]): Promise<void> {
  const days = new Map(rows.map(({ at }) => dayOf(Number(at))).map((each) => [each.table, each]));
  for (const day of days.values()) await createDay(db, day);
}
