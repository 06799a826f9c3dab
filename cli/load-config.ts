/** The stored entities, for commands that show what a gateway would serve. Creates nothing. */
import { readStoredConfig } from "../server/config/sources/store-source.ts";
import { emptyStoredConfig, type StoredConfig } from "../server/config/sources/stored-config.ts";
import type { Settings } from "../server/settings.ts";
import { secretBoxFor } from "../server/wiring/secret-box.ts";
import { hasEntities, openEntities } from "./open-stores.ts";

export async function readStored(settings: Settings): Promise<StoredConfig> {
  if (!hasEntities(settings)) return emptyStoredConfig;
  const store = await openEntities(settings);
  try {
    return await readStoredConfig(store, secretBoxFor(settings));
  } finally {
    await store.close();
  }
}
