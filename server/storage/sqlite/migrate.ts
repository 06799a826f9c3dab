/**
 * Schema migrations of a SQLite file: numbered, forward only, each applied once in a transaction of its own. The table
 * `schema_migrations` records them, so that an earlier version of the gateway refuses a newer file.
 */
import type { Database } from "bun:sqlite";

export interface Migration {
  /** Such as `0002-key-revisions`, the name of its file. */
  readonly name: string;
  /** Runs inside a transaction. The first migration of a file also accepts files from before `schema_migrations`. */
  readonly up: (db: Database) => void;
}

const table = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  )`;

/** Applies the migrations that the file lacks. `now`: Unix milliseconds. */
export function migrate(db: Database, migrations: readonly Migration[], now: number): void {
  if (isCurrent(db, migrations)) return;
  // The gateway and the command line may open the file at the same time: the second one waits here and finds nothing to
  // do.
  const apply = db.transaction(() => {
    db.run(table);
    const applied = appliedCount(db);
    if (applied > migrations.length) throw new Error(newerSchema(applied, migrations.length));
    for (const [index, { name, up }] of migrations.entries()) {
      if (index < applied) continue;
      up(db);
      db.query("INSERT INTO schema_migrations (number, name, applied_at) VALUES (?1, ?2, ?3)").run(
        index + 1,
        name,
        now,
      );
    }
  });
  apply.immediate();
}

/** Without a write lock, so that opening a current file never waits for a writer. */
function isCurrent(db: Database, migrations: readonly Migration[]): boolean {
  const hasTable = db
    .query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'")
    .get();
  return hasTable !== null && appliedCount(db) === migrations.length;
}

const appliedCount = (db: Database): number =>
  db.query<{ count: number }, []>("SELECT count(*) AS count FROM schema_migrations").get()?.count ??
  0;

const newerSchema = (found: number, known: number): string =>
  `a newer version of Vexel has written it (schema ${found}, and this version knows ${known}). Start that version, or restore a copy of the file from before the upgrade`;
