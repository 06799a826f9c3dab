/**
 * Stores that copy what they read to the data folder. Until the database was read once, the copy replaces a database
 * that is unreachable; later, readers get the error and keep the values that they have.
 */
import type { ConfigEntityStore } from "../sql/config-entity-store.ts";
import type { KeyStore } from "../sql/key-store.ts";
import type { KeyChanges } from "../sql/stored-key.ts";
import type { LastKnownConfig } from "../sqlite/last-known-config.ts";
import { isUnavailable } from "../unavailable.ts";

export function withLastKnownKeys(store: KeyStore, copy: LastKnownConfig): KeyStore {
  let hasRead = false;
  /** Saves changes only if none is missing: the copy has every change up to its revision. */
  const save = (since: number, { changes, revision }: KeyChanges): void => {
    const known = copy.revision("keys");
    if (since > (known ?? 0) || revision <= (known ?? -1)) return;
    copy.saveKeys(
      changes.map(({ key }) => key),
      revision,
    );
  };
  return {
    ...store,
    async changesSince(revision, limit) {
      try {
        const changes = await store.changesSince(revision, limit);
        hasRead = true;
        save(revision, changes);
        return changes;
      } catch (error) {
        const known = hasRead ? undefined : copy.revision("keys");
        // After the first revision, the copy was read already.
        if (!isUnavailable(error) || known === undefined || revision > 0) throw error;
        const changes = copy.keys().map((key) => ({ key, isNew: true }));
        return { changes, revision: known, hasMore: false };
      }
    },
  };
}

export function withLastKnownEntities(
  store: ConfigEntityStore,
  copy: LastKnownConfig,
): ConfigEntityStore {
  let hasRead = false;
  /** The revision that was read before the entities. */
  let revision: number | undefined;
  return {
    ...store,
    async revision() {
      const known = hasRead ? undefined : copy.revision("config");
      try {
        revision = await store.revision();
        hasRead = true;
        return revision;
      } catch (error) {
        if (!isUnavailable(error) || known === undefined) throw error;
        return known;
      }
    },
    async changesSince(version) {
      try {
        const changes = await store.changesSince(version);
        // Entities may have changed since the revision was read: then they are read again.
        if (revision !== undefined) copy.saveEntities(changes.changed, revision);
        if (version === 0) copy.deleteOtherEntities(changes.changed);
        return changes;
      } catch (error) {
        const hasCopy = !hasRead && version === 0 && copy.revision("config") !== undefined;
        if (!isUnavailable(error) || !hasCopy) throw error;
        const changed = copy.entities();
        return { changed, count: changed.length };
      }
    },
    async keys() {
      const keys = await store.keys();
      copy.deleteOtherEntities(keys);
      return keys;
    },
  };
}
