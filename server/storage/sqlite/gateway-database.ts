/** `vexel.db`: what is created at runtime and must not be lost, such as API keys. */
import type { Database } from "bun:sqlite";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../lib/error-code.ts";
import { type ConfigEntityStore, createConfigEntityStore } from "../sql/config-entity-store.ts";
import { createKeyStore, type KeyStore } from "../sql/key-store.ts";
import { gatewayMigrations } from "./migrations/gateway.ts";
import { openDatabase, StoreError } from "./open-database.ts";
import { SqliteDatabase } from "./sqlite-database.ts";

/** For the migrations at the start. Another process holds the write lock only for one change. */
const busyMs = 5000;

const pathIn = (folder: string): string => join(folder, "vexel.db");

export const hasGatewayDatabase = (folder: string): boolean => existsSync(pathIn(folder));

/** The folder must exist. `now`: Unix milliseconds. Throws StoreError. */
export const openGatewayFile = (folder: string, now: () => number): Database =>
  openDatabase({
    path: pathIn(folder),
    busyMs,
    migrations: gatewayMigrations,
    now: now(),
  });

export const openGatewayDatabase = (folder: string, now: () => number): SqliteDatabase =>
  new SqliteDatabase(openGatewayFile(folder, now));

/** Creates the folder if it does not exist. */
export function openKeyStore(folder: string, now: () => number): KeyStore {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new StoreError(`The folder ${folder} (VEXEL_DATA) cannot be used: ${reason}`, { cause });
  }
  return createKeyStore(openGatewayDatabase(folder, now));
}

/** For commands that only read: creates nothing. */
export function openExistingKeyStore(folder: string, now: () => number): KeyStore {
  if (hasGatewayDatabase(folder)) return createKeyStore(openGatewayDatabase(folder, now));
  throw new StoreError(
    `There are no keys in ${folder}: ${pathIn(folder)} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
  );
}

export const openConfigEntityStore = (folder: string, now: () => number): ConfigEntityStore =>
  createConfigEntityStore(openGatewayDatabase(folder, now));
