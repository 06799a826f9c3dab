/** Checks all databases of a data folder before the first one is written: one of another version stops the start. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { assertKnownSchema, type Migration } from "./migrate.ts";
import { backlogMigrations } from "./migrations/backlog.ts";
import { eventMigrations } from "./migrations/events.ts";
import { gatewayMigrations } from "./migrations/gateway.ts";
import { jobMigrations } from "./migrations/jobs.ts";
import { lastKnownMigrations } from "./migrations/last-known.ts";
import { ledgerMigrations } from "./migrations/ledger.ts";
import { cannotOpen } from "./open-database.ts";

/**
 * Without the embedding cache: it is replaced if it cannot be used. With a shared database, the other files are left
 * from before "vexel db move".
 */
const ofEveryGateway: readonly [string, readonly Migration[]][] = [
  ["backlog.db", backlogMigrations],
  ["last-known.db", lastKnownMigrations],
];
const withoutSharedDatabase: readonly [string, readonly Migration[]][] = [
  ["vexel.db", gatewayMigrations],
  ["ledger.db", ledgerMigrations],
  ...ofEveryGateway,
  ["events.db", eventMigrations],
  ["jobs.db", jobMigrations],
];

/** Another process may recover the file after a crash. */
const busyMs = 5000;

/** Throws StoreError. Files that do not exist, or a folder, are not created. */
export function checkStoredSchema(folder: string, hasSharedDatabase: boolean): void {
  for (const [name, migrations] of hasSharedDatabase ? ofEveryGateway : withoutSharedDatabase) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    try {
      // A connection that can only read would leave its lock files behind.
      using db = new Database(path, { readwrite: true, strict: true });
      db.run(`PRAGMA busy_timeout = ${busyMs}`);
      assertKnownSchema(db, migrations);
    } catch (cause) {
      throw cannotOpen(path, cause);
    }
  }
}
