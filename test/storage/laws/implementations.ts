/** The implementations of each storage port. A new one is one entry here, and obeys the laws of its port. */
import type { ConfigEntityStore } from "../../../server/storage/ports/config-entity-store.ts";
import type { KeyStore } from "../../../server/storage/ports/key-store.ts";
import { openConfigEntityStore } from "../../../server/storage/sqlite/config-entity-store.ts";
import { openKeyStore } from "../../../server/storage/sqlite/key-store.ts";
import { type Implementation, inFolder } from "./backend.ts";

export const keyStores: readonly Implementation<KeyStore>[] = [inFolder("SQLite", openKeyStore)];

export const configEntityStores: readonly Implementation<ConfigEntityStore>[] = [
  inFolder("SQLite", openConfigEntityStore),
];
