/**
 * Applies schema migrations to a SQLite file: numbered and forward only. The table `schema_migrations` records them, so
 * that an earlier version of the gateway refuses a newer file.
 */
import type { Database } from "bun:sqlite";

export interface Migration {
  /** Begins with its number, such as `0001-tables`. */
  readonly name: string;
  readonly statements: readonly string[];
}

const table = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  )`;

const isNumbered =
  "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'";

/** Applies the migrations that the file lacks, all or none. `now`: Unix milliseconds. */
export function migrate(db: Database, migrations: readonly Migration[], now: number): void {
  const last = migrations.length;
  // Without a write lock, so that opening a current file never waits for a writer.
  if (db.query(isNumbered).get() !== null && appliedNumber(db) === last) return;
  // The gateway and the command line may open the file at the same time: the second one waits here and finds nothing to
  // do.
  const apply = db.transaction(() => {
    db.run(table);
    const applied = appliedNumber(db);
    if (applied > last) throw new Error(newerSchema(applied, last));
    for (const [at, { name, statements }] of migrations.entries()) {
      if (at < applied) continue;
      for (const statement of statements) db.run(statement);
      db.query("INSERT INTO schema_migrations (number, name, applied_at) VALUES (?1, ?2, ?3)").run(
        at + 1,
        name,
        now,
      );
    }
  });
  apply.immediate();
}

/** 0: none. */
const appliedNumber = (db: Database): number =>
  db
    .query<{ number: number | null }, []>("SELECT max(number) AS number FROM schema_migrations")
    .get()?.number ?? 0;

const newerSchema = (found: number, known: number): string =>
  `a newer version of Vexel has written it (schema ${found}, and this version knows ${known}). Start that version, or restore a copy of the file from before the upgrade`;
