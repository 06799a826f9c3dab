/** `vexel.db`: what is created at runtime and must not be lost, such as API keys. */
import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { gatewayMigrations } from "./migrations/gateway/index.ts";
import { openDatabase } from "./open-database.ts";

/** Another process, such as the command line, holds the write lock only for one change. */
const busyMs = 5000;

export const gatewayDatabasePath = (folder: string): string => join(folder, "vexel.db");

/** The folder must exist. `now`: Unix milliseconds. Throws StoreError. */
export const openGatewayDatabase = (folder: string, now: () => number): Database =>
  openDatabase({
    path: gatewayDatabasePath(folder),
    busyMs,
    migrations: gatewayMigrations,
    now: now(),
    prepare: () => undefined,
  });
