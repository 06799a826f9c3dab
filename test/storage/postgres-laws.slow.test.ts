/** The PostgreSQL implementations obey the laws of their ports. In one file, so that one process starts one server. */
import { testsWith } from "../programs.ts";
import { configEntityStoreLaws } from "./laws/config-entity-store.laws.ts";
import { consoleStoreLaws } from "./laws/console-stores.laws.ts";
import { eventStoreLaws } from "./laws/event-store.laws.ts";
import { fileIndexLaws } from "./laws/file-index.laws.ts";
import { jobStoreLaws } from "./laws/job-store.laws.ts";
import { keyStoreLaws } from "./laws/key-store.laws.ts";
import { ledgerLabelLaws } from "./laws/ledger-label.laws.ts";
import { ledgerStoreLaws } from "./laws/ledger-store.laws.ts";
import { ledgerUsageLaws } from "./laws/ledger-usage.laws.ts";
import {
  postgresConfigEntityStore,
  postgresConsoleStores,
  postgresEventStorage,
  postgresFileIndex,
  postgresJobStore,
  postgresKeyStore,
  postgresLedger,
  postgresUploadStore,
  postgresWebhookEndpoints,
} from "./laws/postgres-implementations.ts";
import { uploadStoreLaws } from "./laws/upload-store.laws.ts";
import { usageTotalsLaws } from "./laws/usage-totals.laws.ts";
import { webhookEndpointStoreLaws } from "./laws/webhook-endpoint-store.laws.ts";

testsWith(["postgresql"], import.meta.file, () => {
  keyStoreLaws(postgresKeyStore);
  configEntityStoreLaws(postgresConfigEntityStore);
  consoleStoreLaws(postgresConsoleStores);
  eventStoreLaws(postgresEventStorage);
  fileIndexLaws(postgresFileIndex);
  uploadStoreLaws(postgresUploadStore);
  webhookEndpointStoreLaws(postgresWebhookEndpoints);
  jobStoreLaws(postgresJobStore);
  ledgerStoreLaws(postgresLedger);
  ledgerLabelLaws(postgresLedger);
  ledgerUsageLaws(postgresLedger);
  usageTotalsLaws(postgresLedger);
});
