/** Opens a SQLite file in WAL mode, or throws an error that names the file and the remedy. */
import { Database } from "bun:sqlite";
import { errorCode, errorMessage } from "../../lib/error-code.ts";
import { assertKnownSchema, type Migration, migrate } from "./migrate.ts";

/** The message is for the operator of the gateway. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

interface OpenDatabaseOptions {
  readonly path: string;
  readonly busyMs: number;
  /** Migrate the tables to the current schema. */
  readonly migrations: readonly Migration[];
  /** Unix milliseconds, recorded with the migrations. */
  readonly now?: number;
  /** Runs after the migrations; also detects a file that is not the expected database. */
  readonly prepare?: (db: Database) => void;
}

export function openDatabase({
  path,
  busyMs,
  migrations,
  now = 0,
  prepare,
}: OpenDatabaseOptions): Database {
  let db: Database | undefined;
  try {
    db = new Database(path, { create: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${busyMs}`);
    // Before the journal mode, which is written into the file.
    assertKnownSchema(db, migrations);
    db.run("PRAGMA journal_mode = WAL");
    migrate(db, migrations, now);
    prepare?.(db);
    return db;
  } catch (cause) {
    db?.close();
    throw cannotOpen(path, cause);
  }
}

export const cannotOpen = (path: string, cause: unknown): StoreError =>
  new StoreError(explain(path, cause), { cause });

const damage = new Set(["SQLITE_NOTADB", "SQLITE_CORRUPT"]);

function explain(path: string, error: unknown): string {
  const message = errorMessage(error);
  // Never recreated automatically: its content may still be recoverable.
  const advice = "Restore a copy of it, or move it away to start with an empty one.";
  if (damage.has(errorCode(error)))
    return `${path} is damaged or not a database (${message}). ${advice}`;
  return errorCode(error) === "SQLITE_ERROR"
    ? `${path} cannot be opened: its tables are not those of this version of Vexel (${message}). ${advice}`
    : `${path} cannot be opened: ${message}`;
}
