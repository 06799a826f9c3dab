/** Opens the stores of a command: in the database (`DATABASE_URL`), or in the data folder. */
import type { Settings } from "../server/settings.ts";
import type { ConfigEntityStore } from "../server/storage/ports/config-entity-store.ts";
import type { KeyStore } from "../server/storage/ports/key-store.ts";
import { createConfigEntityStore } from "../server/storage/sql/config-entity-store.ts";
import { createKeyStore } from "../server/storage/sql/key-store.ts";
import {
  hasGatewayDatabase,
  openConfigEntityStore,
  openExistingKeyStore,
  openKeyStore,
} from "../server/storage/sqlite/gateway-database.ts";

type StoreSettings = Pick<Settings, "DATABASE_URL" | "VEXEL_DATA">;

/** `mayCreate`: without a database, the data folder is created if it does not exist. */
export async function openKeys(settings: StoreSettings, mayCreate: boolean): Promise<KeyStore> {
  if (settings.DATABASE_URL !== "") return createKeyStore(await connect(settings));
  const open = mayCreate ? openKeyStore : openExistingKeyStore;
  return open(settings.VEXEL_DATA, Date.now);
}

export async function openEntities(settings: StoreSettings): Promise<ConfigEntityStore> {
  if (settings.DATABASE_URL === "") return openConfigEntityStore(settings.VEXEL_DATA, Date.now);
  return createConfigEntityStore(await connect(settings));
}

/** Whether entities may be stored. A data folder without a SQLite database has none. */
export const hasEntities = (settings: StoreSettings): boolean =>
  settings.DATABASE_URL !== "" || hasGatewayDatabase(settings.VEXEL_DATA);

/** Loaded on demand: most commands use the data folder. */
async function connect({ DATABASE_URL: url }: StoreSettings) {
  const { PostgresDatabase } = await import("../server/storage/postgres/database.ts");
  return new PostgresDatabase({ url, now: Date.now, maxConnections: 2 });
}
