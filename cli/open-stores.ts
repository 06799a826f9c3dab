/** Opens the stores of a command: in the database (`DATABASE_URL`), or in the data folder. */
import type { Settings } from "../server/settings.ts";
import {
  type ConfigEntityStore,
  createConfigEntityStore,
} from "../server/storage/sql/config-entity-store.ts";
import { createKeyStore, type KeyStore } from "../server/storage/sql/key-store.ts";
import { createUserStore, type UserStore } from "../server/storage/sql/user-store.ts";
import {
  createWebhookEndpointStore,
  type WebhookEndpointStore,
} from "../server/storage/sql/webhook-endpoint-store.ts";
import { checkStoredSchema } from "../server/storage/sqlite/check-stored-schema.ts";
import { openEventFile } from "../server/storage/sqlite/event-database.ts";
import {
  hasGatewayDatabase,
  openConfigEntityStore,
  openExistingKeyStore,
  openGatewayDatabase,
  openKeyStore,
} from "../server/storage/sqlite/gateway-database.ts";
import { StoreError } from "../server/storage/sqlite/open-database.ts";
import { SqliteDatabase } from "../server/storage/sqlite/sqlite-database.ts";

type StoreSettings = Pick<Settings, "DATABASE_URL" | "VEXEL_DATA">;

/** Throws StoreError if the data folder has a database of another version, as the start of the gateway does. */
export function checkStoredData({ DATABASE_URL, VEXEL_DATA: folder }: StoreSettings): void {
  if (DATABASE_URL === "") checkStoredSchema(folder, false);
}

/** `mayCreate`: without a database, the data folder is created if it does not exist. */
export async function openKeys(settings: StoreSettings, mayCreate: boolean): Promise<KeyStore> {
  checkStoredData(settings);
  if (settings.DATABASE_URL !== "") return createKeyStore(await connect(settings));
  const open = mayCreate ? openKeyStore : openExistingKeyStore;
  return open(settings.VEXEL_DATA, Date.now);
}

export async function openEntities(settings: StoreSettings): Promise<ConfigEntityStore> {
  checkStoredData(settings);
  if (settings.DATABASE_URL === "") return openConfigEntityStore(settings.VEXEL_DATA, Date.now);
  return createConfigEntityStore(await connect(settings));
}

/** The users of the console. Throws StoreError if the data folder has no database. */
export async function openUsers(
  settings: StoreSettings,
): Promise<Pick<UserStore, "isEmpty"> & { close(): Promise<void> }> {
  checkStoredData(settings);
  const { DATABASE_URL, VEXEL_DATA: folder } = settings;
  if (DATABASE_URL === "" && !hasGatewayDatabase(folder)) {
    throw new StoreError(
      `There is no gateway in ${folder}. Set VEXEL_DATA to the data folder of the gateway.`,
    );
  }
  const db = DATABASE_URL === "" ? openGatewayDatabase(folder, Date.now) : await connect(settings);
  return { isEmpty: () => createUserStore(db).isEmpty(), close: () => db.close() };
}

/** Runs `use` with the webhook endpoints of clients. */
export async function withWebhookEndpoints<T>(
  settings: StoreSettings,
  use: (store: WebhookEndpointStore) => Promise<T>,
): Promise<T> {
  checkStoredData(settings);
  const db =
    settings.DATABASE_URL === ""
      ? new SqliteDatabase(openEventFile(settings.VEXEL_DATA))
      : await connect(settings);
  try {
    return await use(createWebhookEndpointStore(db));
  } finally {
    await db.close();
  }
}

/** Whether entities may be stored. A data folder without a SQLite database has none. */
export const hasEntities = (settings: StoreSettings): boolean =>
  settings.DATABASE_URL !== "" || hasGatewayDatabase(settings.VEXEL_DATA);

/** Loaded on demand: most commands use the data folder. */
async function connect({ DATABASE_URL: url }: StoreSettings) {
  const { PostgresDatabase } = await import("../server/storage/postgres/database.ts");
  return new PostgresDatabase({ url, now: Date.now, maxConnections: 2 });
}
