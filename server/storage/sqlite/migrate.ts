/**
 * Applies schema migrations to a SQLite file: numbered and forward only. The table `schema_migrations` records them and
 * the version of the program that applied them, so that another version refuses a file that it does not know.
 */
import type { Database } from "bun:sqlite";
import { version } from "../../../package.json";
import { maxRecordedRows, type SchemaRecord, schemaMismatch } from "../schema-mismatch.ts";

export interface Migration {
  /** Begins with its number, such as `0001-tables`. */
  readonly name: string;
  readonly statements: readonly string[];
}

const table = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  )`;

/** Throws if the file is not one of this version or of an earlier one. Writes nothing. */
export function assertKnownSchema(db: Database, migrations: readonly Migration[]): void {
  const reason = schemaMismatch(recordOf(db), migrations, false);
  if (reason !== undefined) throw new Error(reason);
}

/** Applies the migrations that the file lacks, all or none. `now`: Unix milliseconds. */
export function migrate(db: Database, migrations: readonly Migration[], now: number): void {
  assertKnownSchema(db, migrations);
  // Without a write lock, so that opening a current file never waits for a writer.
  if (recordOf(db).rows.length === migrations.length) return;
  // The gateway and the command line may open the file at the same time: the second one waits here and finds nothing to
  // do.
  const apply = db.transaction(() => {
    assertKnownSchema(db, migrations);
    const applied = recordOf(db).rows.length;
    db.run(table);
    const record = db.query(
      "INSERT INTO schema_migrations (number, name, version, applied_at) VALUES (?1, ?2, ?3, ?4)",
    );
    for (const [at, { name, statements }] of migrations.entries()) {
      if (at < applied) continue;
      for (const statement of statements) db.run(statement);
      record.run(at + 1, name, version, now);
    }
  });
  apply.immediate();
}

function recordOf(db: Database): SchemaRecord {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all();
  const others = tables.filter(({ name }) => name !== "schema_migrations");
  const rows =
    others.length === tables.length
      ? []
      : db
          .query<Record<string, unknown>, []>(
            `SELECT * FROM schema_migrations LIMIT ${maxRecordedRows}`,
          )
          .all();
  return { rows, hasTables: others.length > 0 };
}
