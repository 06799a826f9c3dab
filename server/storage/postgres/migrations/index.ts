/** The migrations of PostgreSQL, in order. A migration that was released is never changed: a new one is appended. */
import type { PostgresMigration } from "../migrate.ts";
import { consoleTables } from "./console.ts";
import { eventTables } from "./events.ts";
import { fileTables } from "./files.ts";
import { jobTables } from "./jobs.ts";
import { keysAndConfig } from "./keys-and-config.ts";
import { ledgerTables } from "./ledger.ts";

const tables: PostgresMigration = {
  name: "0001-tables",
  statements: [
    ...keysAndConfig,
    ...consoleTables,
    ...ledgerTables,
    ...eventTables,
    ...fileTables,
    ...jobTables,
  ],
};

export const postgresMigrations: readonly PostgresMigration[] = [tables];
