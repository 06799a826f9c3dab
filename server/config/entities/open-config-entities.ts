/** The entities of the store for commands, which have no configuration in force. */
import { runAtOnce } from "../../lib/tasks.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../../storage/sql/config-entity-store.ts";
import { Composer, type Sources } from "../build/load-snapshot.ts";
import { StoredKeys } from "../build/stored-keys.ts";
import { StoredConfigReader } from "../sources/stored-config.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import { ConfigEntities } from "./config-entities.ts";

interface ConfigEntitiesOptions {
  readonly store: ConfigEntityStore;
  readonly secrets: SecretBox;
  readonly inspectFolder?: InspectFolder;
  /** Reads the file and the environment. */
  readonly sources: () => Pick<Sources, "yaml" | "environment">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Each call reads the file, and the changes of the store. */
export function openConfigEntities(options: ConfigEntitiesOptions): ConfigEntities {
  const { store, secrets, sources, inspectFolder, now } = options;
  const composer = new Composer(inspectFolder);
  const stored = new StoredConfigReader(store, secrets);
  return new ConfigEntities({
    store,
    secrets,
    composer,
    current: async () => {
      const all = { ...sources(), stored: await stored.read(), storedKeys: StoredKeys.empty };
      return runAtOnce(composer.compose(all, { version: 1, now: now() }));
    },
    now,
  });
}
