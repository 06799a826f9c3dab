/** The implementations of each storage port. A new one is one entry here, and obeys the laws of its port. */
import type { KeyStore } from "../../../server/storage/ports/key-store.ts";
import { openKeyStore } from "../../../server/storage/sqlite/key-store.ts";
import { type Implementation, inFolder } from "./backend.ts";

export const keyStores: readonly Implementation<KeyStore>[] = [inFolder("SQLite", openKeyStore)];
