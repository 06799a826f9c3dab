/**
 * The PostgreSQL implementation of each storage port. The location of a storage is the URL of a database.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresDatabase } from "../../../server/storage/postgres/database.ts";
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
import { databaseName, sharedPostgres } from "../postgres-server.ts";
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

let database: Promise<string> | undefined;

/** The URL of a database without rows to which all migrations were applied. */
async function migratedDatabase(): Promise<string> {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new PostgresDatabase({ url, now: () => 1000, maxConnections: 1 });
  await db.migrate();
  await db.close();
  return url;
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
      AND relname NOT IN ('schema_migrations', 'revisions', 'file_quota_lock')
  LOOP
    EXECUTE format('DELETE FROM %s', name);
  END LOOP;
  UPDATE vexel.revisions SET value = 0;
  UPDATE vexel.file_quota_lock SET reservations = 0;
END $$`;

/** One database for all laws, emptied after each: a new one would take as much CPU time as the law itself. */
const inDatabase = <Store>(
  open: (url: string, now: () => number) => Store,
): Implementation<Store> => ({
  name: "PostgreSQL",
  createStorage: async () => {
    database ??= migratedDatabase();
    const location = await database;
    const server = await sharedPostgres();
    return {
      location,
      dispose: async () => void (await server.execute(databaseName(location), emptyDatabase)),
    };
  },
  open: async (url, now) => open(url, now),
});

/** Few connections: some laws open several stores. */
const connect = (url: string, now: () => number): PostgresDatabase =>
  new PostgresDatabase({ url, now, maxConnections: 4 });

/** A store that copies what it reads to a data folder of its own, as every replica does. */
const withCopy = <Store extends KeyStore | ConfigEntityStore>(
  create: (db: PostgresDatabase, copy: LastKnownConfig) => Store,
): Implementation<Store> =>
  inDatabase((url, now) => {
    const folder = mkdtempSync(join(tmpdir(), "vexel-law-"));
    const copy = new LastKnownConfig(folder, now);
    const store = create(connect(url, now), copy);
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

export const postgresConsoleStores = inDatabase((url, now) => openConsoleStores(connect(url, now)));

export const postgresLedger = inDatabase(openPostgresLedger);

/** A short queue: each delivery is a transaction. */
export const postgresEventStorage = inDatabase((url, now) =>
  openEventStorage(connect(url, now), 50),
);

export const postgresWebhookEndpoints = inDatabase((url, now) =>
  openWebhookEndpoints(connect(url, now)),
);

export const postgresUploadStore = inDatabase((url, now) => openUploadStore(connect(url, now)));

export const postgresFileIndex = inDatabase((url, now) => openFileIndex(connect(url, now)));
export const postgresJobStore = inDatabase((url, now) => openJobStorage(connect(url, now)));
