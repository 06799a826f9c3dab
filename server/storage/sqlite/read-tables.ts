/** Reads whole tables of a SQLite file, in batches. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";

export type TableRow = Readonly<Record<string, unknown>>;

/** No rows if the file does not exist. */
export function* readTable(path: string, table: string, batchRows: number): Generator<TableRow[]> {
  if (!existsSync(path)) return;
  using db = new Database(path, { readonly: true });
  let batch: TableRow[] = [];
  for (const row of db.query<TableRow, []>(`SELECT * FROM ${table}`).iterate()) {
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
