/**
 * Reads the changes of stored API keys since the last read: new keys, changed keys and key revocations. Equal settings
 * of different keys share one object.
 */
import { deepFreeze } from "../../lib/deep-freeze.ts";
import type { KeyStore } from "../../storage/sql/key-store.ts";
import type { StoredKey } from "../../storage/sql/stored-key.ts";
import type { StoredKeyChange } from "../build/stored-keys.ts";
import type { Key } from "../snapshot.ts";

const pageSize = 1000;

type ApplyKeyChanges = (changes: readonly StoredKeyChange[]) => Promise<void>;

/**
 * The first call of the returned function reads all keys. It rejects with the error of the store or of `apply`; the
 * next call then reads the same changes, so that no revocation is lost. Calls must not overlap: two reads from the same
 * revision would apply the same changes twice.
 */
export function createStoredKeyReader(
  keys: Pick<KeyStore, "changesSince">,
): (apply: ApplyKeyChanges) => Promise<void> {
  let revisionApplied = 0;
  return async (apply) => {
    const changes: StoredKeyChange[] = [];
    const share = shareEqualValues();
    let revision = revisionApplied;
    for (let hasMore = true; hasMore; ) {
      const page = await keys.changesSince(revision, pageSize);
      for (const { key } of page.changes) {
        changes.push({ key: configuredKey(key, share), isRevoked: key.revokedAt !== null });
      }
      ({ revision, hasMore } = page);
    }
    if (changes.length > 0) await apply(changes);
    revisionApplied = revision;
  };
}

type Share = <T extends object>(value: T) => T;

function configuredKey(stored: StoredKey, share: Share): Key {
  const { hint, createdAt, revokedAt, models, limits, budget, ...key } = stored;
  return {
    ...key,
    models: share(models),
    ...(limits && { limits: share(limits) }),
    ...(budget && { budget: share(budget) }),
    source: "store",
  };
}

/** Most of 100,000 keys have the same few models and limits: one frozen object for all of them saves memory. */
function shareEqualValues(): Share {
  const shared = new Map<string, object>();
  return <T extends object>(value: T): T => {
    const text = JSON.stringify(value);
    const found = shared.get(text);
    if (found) return found as T;
    shared.set(text, deepFreeze(value));
    return value;
  };
}
