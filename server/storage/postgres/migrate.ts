/**
 * Applies schema migrations to PostgreSQL: numbered and forward only. An advisory lock lets one replica apply them
 * while the others wait. Migrations expand the schema, so that replicas of the previous version keep working beside new
 * ones during a rolling update; a migration that removes something names the number that older versions must know
 * (`requires`). A database whose migrations have other names is refused before anything is written.
 */

import { version } from "../../../package.json";
import { maxRecordedRows, schemaMismatch } from "../schema-mismatch.ts";
import type { Queries } from "../sql/database.ts";
import { StoreError } from "../sqlite/open-database.ts";

export interface PostgresMigration {
  /** Such as `0001-tables`. */
  readonly name: string;
  /** The number of migrations that a gateway must know to use the schema after this one. The default is any number. */
  readonly requires?: number;
  readonly statements: readonly string[];
}

/** Any constant: the key of the advisory lock of the migrations. */
const lockKey = 8_350_917_201;

/** Rejects with StoreError if the database is not one that this version can use. Writes nothing. */
export async function assertKnownSchema(
  db: Queries,
  migrations: readonly PostgresMigration[],
): Promise<void> {
  await countApplied(db, migrations);
}

/** Runs in a transaction. `now`: Unix milliseconds. Rejects with StoreError. */
export async function migrate(
  db: Queries,
  migrations: readonly PostgresMigration[],
  now: number,
): Promise<void> {
  await db.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
  const applied = await countApplied(db, migrations);
  await db.query("CREATE SCHEMA IF NOT EXISTS vexel");
  await db.query(`
    CREATE TABLE IF NOT EXISTS vexel.schema_migrations (
      number     INTEGER PRIMARY KEY,
      name       TEXT NOT NULL,
      version    TEXT NOT NULL,
      requires   INTEGER NOT NULL,
      applied_at BIGINT NOT NULL
    )`);
  for (const [index, { name, requires = 0, statements }] of migrations.entries()) {
    if (index < applied) continue;
    for (const statement of statements) await db.query(statement);
    await db.query(
      `INSERT INTO vexel.schema_migrations (number, name, version, requires, applied_at)
       VALUES ($1, $2, $3, $4, $5)`,
      [index + 1, name, version, requires, now],
    );
  }
}

async function countApplied(
  db: Queries,
  migrations: readonly PostgresMigration[],
): Promise<number> {
  const { rows: found } = await db.query<{ recorded: boolean; tables: boolean }>(
    `SELECT to_regclass('vexel.schema_migrations') IS NOT NULL AS recorded, EXISTS (
       SELECT 1 FROM pg_class
       WHERE relnamespace = to_regnamespace('vexel') AND relkind IN ('r', 'p')
         AND relname <> 'schema_migrations'
     ) AS tables`,
  );
  const { recorded = false, tables = false } = found[0] ?? {};
  const { rows } = recorded
    ? await db.query<Record<string, unknown>>(
        `SELECT * FROM vexel.schema_migrations LIMIT ${maxRecordedRows}`,
      )
    : { rows: [] };
  const required = Math.max(0, ...rows.map(({ requires }) => Number(requires)));
  const reason = schemaMismatch(
    { rows, hasTables: tables },
    migrations,
    required <= migrations.length,
  );
  if (reason !== undefined)
    throw new StoreError(`The database (DATABASE_URL) cannot be used: ${reason}`);
  return rows.length;
}
