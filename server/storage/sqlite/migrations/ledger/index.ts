/** The migrations of `ledger.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../../migrate.ts";
import { ledgerTable } from "./0001-ledger-table.ts";
import { spendTable } from "./0002-spend-table.ts";
import { usageByHour } from "./0003-usage-by-hour.ts";
import { requestDetails } from "./0004-request-details.ts";
import { segmentsAndCoarseUsage } from "./0005-segments-and-coarse-usage.ts";
import { usageByKey } from "./0006-usage-by-key.ts";

export const ledgerMigrations: readonly Migration[] = [
  ledgerTable,
  spendTable,
  usageByHour,
  requestDetails,
  segmentsAndCoarseUsage,
  usageByKey,
];
