/** The stored entities of the data folder, for commands that show what a gateway would serve. Creates nothing. */
import { existsSync } from "node:fs";
import { readStoredConfig } from "../server/config/sources/store-source.ts";
import { emptyStoredConfig, type StoredConfig } from "../server/config/sources/stored-config.ts";
import type { Settings } from "../server/settings.ts";
import { openConfigEntityStore } from "../server/storage/sqlite/config-entity-store.ts";
import { gatewayDatabasePath } from "../server/storage/sqlite/gateway-database.ts";
import { secretBoxFor } from "../server/wiring/secret-box.ts";

export async function readStored(settings: Settings): Promise<StoredConfig> {
  if (!existsSync(gatewayDatabasePath(settings.VEXEL_DATA))) return emptyStoredConfig;
  const store = openConfigEntityStore(settings.VEXEL_DATA, Date.now);
  try {
    return await readStoredConfig(store, secretBoxFor(settings));
  } finally {
    await store.close();
  }
}
