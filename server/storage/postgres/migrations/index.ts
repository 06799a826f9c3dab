/** The migrations of PostgreSQL, in order. A migration that was released is never changed: a new one is appended. */
import type { PostgresMigration } from "../migrate.ts";
import { keysAndConfig } from "./0001-keys-and-config.ts";
import { consoleTables } from "./0002-console.ts";
import { ledgerTables } from "./0003-ledger.ts";
import { eventTables } from "./0004-events.ts";
import { responseTables } from "./0005-responses.ts";
import { spentByDay } from "./0006-spent-by-day.ts";
import { spentByMonth } from "./0007-spent-by-month.ts";
import { errorMessage } from "./0008-error-message.ts";

export const postgresMigrations: readonly PostgresMigration[] = [
  keysAndConfig,
  consoleTables,
  ledgerTables,
  eventTables,
  responseTables,
  spentByDay,
  spentByMonth,
  errorMessage,
];
