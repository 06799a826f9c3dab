/** The stores of the gateway that an import writes to. */
import {
  type ConfigEntities,
  EntityRefused,
} from "../../server/config/entities/config-entities.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import { settingsOrUsage, UsageError } from "../command.ts";
import { entitiesOf } from "../config.ts";
import { hasEntities, openEntities, openKeys } from "../open-stores.ts";

export interface ImportStores {
  readonly entities: ConfigEntities;
  readonly keys: KeyStore;
}

export const hasStores = (): boolean => hasEntities(settingsOrUsage());

/** `mayCreate`: without a database, the data folder is created if it does not exist. */
export async function withStores<T>(
  mayCreate: boolean,
  use: (stores: ImportStores) => Promise<T>,
): Promise<T> {
  const settings = settingsOrUsage();
  const keys = await openKeys(settings, mayCreate);
  try {
    const entities = await openEntities(settings);
    try {
      return await use({ entities: entitiesOf(entities, settings), keys });
    } catch (error) {
      if (error instanceof EntityRefused) throw new UsageError(error.message, "settings");
      throw error;
    } finally {
      await entities.close();
    }
  } finally {
    await keys.close();
  }
}
