/**
 * The PostgreSQL implementation of each storage port. The location of a storage is the URL of a database.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import type { PostgresDatabase } from "../../../server/storage/postgres/database.ts";
import {
  withLastKnownEntities,
  withLastKnownKeys,
} from "../../../server/storage/postgres/last-known-stores.ts";
import {
  type ConfigEntityStore,
  createConfigEntityStore,
} from "../../../server/storage/sql/config-entity-store.ts";
import { createKeyStore, type KeyStore } from "../../../server/storage/sql/key-store.ts";
import { LastKnownConfig } from "../../../server/storage/sqlite/last-known-config.ts";
import { sharedPostgres } from "../postgres-server.ts";
import type { Implementation } from "./backend.ts";
import {
  openConsoleStores,
  openEventStorage,
  openFileIndex,
  openJobStorage,
  openUploadStore,
  openWebhookEndpoints,
} from "./implementations.ts";
import { openPostgresLedger } from "./ledger-storage.ts";
import { connect, endLaw, startLaw } from "./reused-database.ts";

let database: Promise<{ url: string; sql: SQL }> | undefined;

/** A database without rows to which all migrations were applied, and the connection that empties it. */
async function migratedDatabase() {
  const url = await (await sharedPostgres()).createDatabase();
  await connect(url).migrate();
  return { url, sql: new SQL({ url, max: 1 }) };
}

/** Leaves a database as the migrations made it: without rows and days, and with the counters at zero. */
const emptyDatabase = `DO $$
DECLARE name regclass;
BEGIN
  FOR name IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'vexel.ledger'::regclass LOOP
    EXECUTE format('DROP TABLE %s', name);
  END LOOP;
  FOR name IN SELECT oid FROM pg_class
    WHERE relnamespace = 'vexel'::regnamespace AND relkind = 'r'
      AND relname NOT IN ('schema_migrations', 'revisions')
  LOOP
    EXECUTE format('DELETE FROM %s', name);
  END LOOP;
  UPDATE vexel.revisions SET value = 0;
END $$`;

/** One database for all laws, emptied after each: a new one would take as much CPU time as the law itself. */
const inDatabase = <Store>(
  open: (url: string, now: () => number) => Store,
): Implementation<Store> => ({
  name: "PostgreSQL",
  createStorage: async () => {
    database ??= migratedDatabase();
    const { url, sql } = await database;
    startLaw();
    return { location: url, endLaw, dispose: async () => void (await sql.unsafe(emptyDatabase)) };
  },
  open: async (url, now) => open(url, now),
});

/** A store that copies what it reads to a data folder of its own, as every replica does. */
const withCopy = <Store extends KeyStore | ConfigEntityStore>(
  create: (db: PostgresDatabase, copy: LastKnownConfig) => Store,
): Implementation<Store> =>
  inDatabase((url, now) => {
    const folder = mkdtempSync(join(tmpdir(), "vexel-law-"));
    const copy = new LastKnownConfig(folder, now);
    const store = create(connect(url), copy);
    const close = async (): Promise<void> => {
      await store.close();
      copy.close();
      rmSync(folder, { recursive: true, force: true });
    };
    return { ...store, close };
  });

export const postgresKeyStore = withCopy((db, copy) => withLastKnownKeys(createKeyStore(db), copy));

export const postgresConfigEntityStore = withCopy((db, copy) =>
  withLastKnownEntities(createConfigEntityStore(db), copy),
);

export const postgresConsoleStores = inDatabase((url) => openConsoleStores(connect(url)));

export const postgresLedger = inDatabase(openPostgresLedger);

export const postgresEventStorage = inDatabase((url) => openEventStorage(connect(url)));

export const postgresWebhookEndpoints = inDatabase((url) => openWebhookEndpoints(connect(url)));

export const postgresUploadStore = inDatabase((url) => openUploadStore(connect(url)));

export const postgresFileIndex = inDatabase((url) => openFileIndex(connect(url)));
export const postgresJobStore = inDatabase((url) => openJobStorage(connect(url)));
