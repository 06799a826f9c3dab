/** The migrations of `vexel.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../../migrate.ts";
import { keys } from "./0001-keys.ts";
import { keyRevisions } from "./0002-key-revisions.ts";
import { configEntities } from "./0003-config-entities.ts";
import { consoleTables } from "./0004-console.ts";

export const gatewayMigrations: readonly Migration[] = [
  keys,
  keyRevisions,
  configEntities,
  consoleTables,
];
