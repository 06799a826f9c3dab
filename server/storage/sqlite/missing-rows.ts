/** The rows of a data folder that a backup of it lacks: a rollback to the backup loses them. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cannotOpen } from "./open-database.ts";

/** Without sums, sessions and queues, which follow from the others or end by themselves. */
const compared: Readonly<Record<string, readonly string[]>> = {
  "ledger.db": ["ledger"],
  "vexel.db": ["keys", "config_entities", "users", "admin_tokens", "audit_log"],
  "jobs.db": ["files", "uploads", "jobs"],
  "events.db": ["events", "webhook_endpoints"],
};

interface MissingRow {
  readonly table: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Rows that were changed since the backup are in it. No gateway may use the folder. Throws StoreError. */
export function* missingRows(folder: string, backup: string): Generator<MissingRow> {
  for (const [name, tables] of Object.entries(compared)) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    try {
      using db = new Database(path, { readonly: true, strict: true });
      const copy = join(backup, name);
      const hasCopy = existsSync(copy);
      // Attached databases are opened to be read, as this one is.
      if (hasCopy) db.run("ATTACH ?1 AS copy", [copy]);
      for (const table of tables) {
        const missing = hasCopy ? ` WHERE NOT EXISTS (${sameRow(db, table)})` : "";
        const rows = db.query<MissingRow["row"], []>(
          `SELECT * FROM main.${table} AS own${missing}`,
        );
        for (const row of rows.iterate()) yield { table, row };
      }
    } catch (cause) {
      throw cannotOpen(path, cause);
    }
  }
}

/** Selects the row of the copy that has the primary key of the row `own`. */
function sameRow(db: Database, table: string): string {
  const columns = db
    .query<{ name: string; pk: number }, []>(`PRAGMA main.table_info(${table})`)
    .all();
  const keys = columns.filter(({ pk }) => pk > 0);
  const isSame = keys.map(({ name }) => `copy.${table}.${name} = own.${name}`).join(" AND ");
  return `SELECT 1 FROM copy.${table} WHERE ${isSame}`;
}
