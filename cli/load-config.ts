/** The configuration that a gateway with these settings would serve, for commands. Creates nothing. */
import {
  type Loaded,
  type LoadOptions,
  loadSnapshot,
} from "../server/config/build/load-snapshot.ts";
import {
  emptyStoredConfig,
  readStoredConfig,
  type StoredConfig,
} from "../server/config/sources/stored-config.ts";
import type { Settings } from "../server/settings.ts";
import { secretBoxFor } from "../server/wiring/storage.ts";
import { checkStoredData, hasEntities, openEntities } from "./open-stores.ts";

/** `namedBy`: the option or setting that names the configuration file, as of `configNamedBy`. */
export const loadConfig = async (
  settings: Settings,
  namedBy: string | undefined,
  options: Pick<LoadOptions, "inspectFolder"> = {},
): Promise<Loaded> =>
  loadSnapshot({
    path: settings.VEXEL_CONFIG,
    namedBy,
    env: process.env,
    stored: await readStored(settings),
    now: Date.now(),
    ...options,
  });

async function readStored(settings: Settings): Promise<StoredConfig> {
  checkStoredData(settings);
  if (!hasEntities(settings)) return emptyStoredConfig;
  const store = await openEntities(settings);
  try {
    return await readStoredConfig(store, secretBoxFor(settings));
  } finally {
    await store.close();
  }
}
