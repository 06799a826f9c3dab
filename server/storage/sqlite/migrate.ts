/**
 * Applies schema migrations to a SQLite file: numbered and forward only. The table `schema_migrations` records them, so
 * that an earlier version of the gateway refuses a newer file. Files from before the first migration are refused as
 * well, and files without the table unless their number is known otherwise.
 */
import type { Database } from "bun:sqlite";

export interface Migration {
  /** Begins with its number, such as `0004-tables`. */
  readonly name: string;
  readonly statements: readonly string[];
}

const table = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  )`;

const numberOf = (migration: Migration | undefined): number =>
  Number.parseInt(migration?.name ?? "0", 10);

/** The number of the last migration that a file without the table `schema_migrations` has. 0: it is not known. */
export type UnnumberedState = (db: Database) => number;

/** Applies the migrations that the file lacks, all or none. `now`: Unix milliseconds. */
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  now: number,
  unnumbered: UnnumberedState = () => 0,
): void {
  const [first, last] = [numberOf(migrations[0]), numberOf(migrations.at(-1))];
  // Without a write lock, so that opening a current file never waits for a writer.
  if (hasTable(db, "schema_migrations") && appliedNumber(db) === last) return;
  // The gateway and the command line may open the file at the same time: the second one waits here and finds nothing to
  // do.
  const apply = db.transaction(() => {
    const isNew = !hasTable(db, "%");
    const isNumbered = isNew || hasTable(db, "schema_migrations");
    db.run(table);
    const recorded = appliedNumber(db);
    const applied = isNumbered ? recorded : unnumbered(db);
    if (applied > last) throw new Error(newerSchema(applied, last));
    if (applied < first && !isNew) throw new Error(earlierSchema(applied, first));
    const after = (number: number) => migrations.filter((each) => numberOf(each) > number);
    for (const { statements } of after(applied)) for (const each of statements) db.run(each);
    for (const migration of after(recorded)) {
      db.query("INSERT INTO schema_migrations (number, name, applied_at) VALUES (?1, ?2, ?3)").run(
        numberOf(migration),
        migration.name,
        now,
      );
    }
  });
  apply.immediate();
}

export const hasTable = (db: Database, pattern: string): boolean =>
  db.query("SELECT 1 FROM sqlite_master WHERE name LIKE ?1").get(pattern) !== null;

/** 0: none. */
const appliedNumber = (db: Database): number =>
  db
    .query<{ number: number | null }, []>("SELECT max(number) AS number FROM schema_migrations")
    .get()?.number ?? 0;

const newerSchema = (found: number, known: number): string =>
  `a newer version of Vexel has written it (schema ${found}, and this version knows ${known}). Start that version, or restore a copy of the file from before the upgrade`;

const earlierSchema = (found: number, first: number): string =>
  `it has no schema that this version of Vexel reads: an earlier state of Vexel, before its first release, or another program has written it (schema ${found}, and the first that is read is ${first}). Move it away to start with an empty one`;
