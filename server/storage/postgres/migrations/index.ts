/** The migrations of PostgreSQL, in order. A migration that was released is never changed: a new one is appended. */
import { keysAndConfig } from "./0001-keys-and-config.ts";
import { consoleTables } from "./0002-console.ts";
import { ledgerTables } from "./0003-ledger.ts";
import { eventTables } from "./0004-events.ts";
import { responseTables } from "./0005-responses.ts";
import type { PostgresMigration } from "./postgres-migration.ts";

export type { PostgresMigration } from "./postgres-migration.ts";

export const postgresMigrations: readonly PostgresMigration[] = [
  keysAndConfig,
  consoleTables,
  ledgerTables,
  eventTables,
  responseTables,
];
