/** The migrations of PostgreSQL, in order. A migration that was released is never changed: a new one is appended. */
import type { PostgresMigration } from "../migrate.ts";
import { accountTables, consoleTables } from "./console.ts";
import { alertTables, eventTables, webhookEndpointTables } from "./events.ts";
import { fileTables, uploadTables } from "./files.ts";
import { jobTables } from "./jobs.ts";
import { keysAndConfig } from "./keys-and-config.ts";
import { ledgerTables, refusedAndTagged } from "./ledger.ts";

const tables: PostgresMigration = {
  name: "0001-base-tables",
  statements: [...keysAndConfig, ...consoleTables, ...ledgerTables, ...eventTables],
};

const files: PostgresMigration = { name: "0002-files", statements: fileTables };

const jobs: PostgresMigration = { name: "0003-jobs", statements: jobTables };

const webhookEndpoints: PostgresMigration = {
  name: "0004-webhook-endpoints",
  statements: webhookEndpointTables,
};

const uploads: PostgresMigration = { name: "0005-uploads", statements: uploadTables };

const accounts: PostgresMigration = { name: "0006-accounts", statements: accountTables };

const alerts: PostgresMigration = { name: "0007-alerts", statements: alertTables };

const refusedRequests: PostgresMigration = {
  name: "0008-refused-and-tagged-requests",
  statements: refusedAndTagged,
};

export const postgresMigrations: readonly PostgresMigration[] = [
  tables,
  files,
  jobs,
  webhookEndpoints,
  uploads,
  accounts,
  alerts,
  refusedRequests,
];
