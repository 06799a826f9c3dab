/** The PostgreSQL implementation of each storage port. The location of a storage is the URL of a database of its own. */
import { PostgresAuditLog } from "../../../server/storage/postgres/audit-log.ts";
import { PostgresConfigEntityStore } from "../../../server/storage/postgres/config-entity-store.ts";
import { PostgresDatabase } from "../../../server/storage/postgres/database.ts";
import { PostgresDeliveryStore } from "../../../server/storage/postgres/delivery-store.ts";
import { PostgresEventStore } from "../../../server/storage/postgres/event-store.ts";
import { PostgresKeyStore } from "../../../server/storage/postgres/key-store.ts";
import { PostgresSessionStore } from "../../../server/storage/postgres/session-store.ts";
import { PostgresUserStore } from "../../../server/storage/postgres/user-store.ts";
import { sharedPostgres } from "../postgres-server.ts";
import type { Implementation } from "./backend.ts";
import type { ConsoleStores } from "./console-stores.laws.ts";
import type { EventStorage } from "./event-store.laws.ts";
import { openPostgresLedger } from "./ledger-storage.ts";

const inDatabase = <Store>(
  open: (url: string, now: () => number) => Store,
): Implementation<Store> => ({
  name: "PostgreSQL",
  createStorage: async () => ({
    location: await (await sharedPostgres()).createDatabase(),
    // The databases are deleted with the folder of the server.
    dispose: async () => undefined,
  }),
  open: async (url, now) => open(url, now),
});

/** Few connections: some laws open several stores. */
const connect = (url: string, now: () => number): PostgresDatabase =>
  new PostgresDatabase({ url, now, maxConnections: 4 });

export const postgresKeyStore = inDatabase((url, now) => new PostgresKeyStore(connect(url, now)));

export const postgresConfigEntityStore = inDatabase(
  (url, now) => new PostgresConfigEntityStore(connect(url, now)),
);

export const postgresConsoleStores = inDatabase((url, now): ConsoleStores => {
  const db = connect(url, now);
  return {
    users: new PostgresUserStore(db),
    sessions: new PostgresSessionStore(db),
    audit: new PostgresAuditLog(db),
    close: () => db.close(),
  };
});

export const postgresLedger = inDatabase(openPostgresLedger);

export const postgresEventStorage = inDatabase((url, now): EventStorage => {
  const db = connect(url, now);
  return {
    events: new PostgresEventStore(db),
    deliveries: new PostgresDeliveryStore(db),
    close: () => db.close(),
  };
});
