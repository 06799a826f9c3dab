/**
 * Applies schema migrations to PostgreSQL: numbered and forward only. An advisory lock lets one replica apply them
 * while the others wait. Migrations expand the schema, so that replicas of the previous version keep working beside new
 * ones during a rolling update; a migration that removes something names the number that older versions must know
 * (`requires`).
 */

import type { Queries } from "../sql/database.ts";

export interface PostgresMigration {
  /** Such as `0001-tables`. */
  readonly name: string;
  /** The number of migrations that a gateway must know to use the schema after this one. Absent: any number. */
  readonly requires?: number;
  readonly statements: readonly string[];
}

/** Any constant: the key of the advisory lock of the migrations. */
const lockKey = 8_350_917_201;

/** Runs in a transaction. `now`: Unix milliseconds. */
export async function migrate(
  db: Queries,
  migrations: readonly PostgresMigration[],
  now: number,
): Promise<void> {
  await db.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
  await db.query("CREATE SCHEMA IF NOT EXISTS vexel");
  await db.query(`
    CREATE TABLE IF NOT EXISTS vexel.schema_migrations (
      number     INTEGER PRIMARY KEY,
      name       TEXT NOT NULL,
      requires   INTEGER NOT NULL,
      applied_at BIGINT NOT NULL
    )`);
  const { rows } = await db.query<{ applied: number; required: number }>(
    `SELECT coalesce(max(number), 0)::int AS applied, coalesce(max(requires), 0)::int AS required
     FROM vexel.schema_migrations`,
  );
  const { applied, required } = rows[0] ?? { applied: 0, required: 0 };
  if (required > migrations.length) throw new Error(newerSchema(required, migrations.length));
  for (const [index, { name, requires = 0, statements }] of migrations.entries()) {
    if (index < applied) continue;
    for (const statement of statements) await db.query(statement);
    await db.query(
      `INSERT INTO vexel.schema_migrations (number, name, requires, applied_at)
       VALUES ($1, $2, $3, $4)`,
      [index + 1, name, requires, now],
    );
  }
}

const newerSchema = (required: number, known: number): string =>
  `The database (DATABASE_URL) was migrated by a newer version of Vexel: it needs schema ${required}, and this version knows ${known}. Start the newer version.`;
