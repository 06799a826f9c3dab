/** The names of API keys and users by their ids, for lists that have ids only. */
import type { Key, Snapshot } from "../../config/snapshot.ts";
import type { KeyStore } from "../../storage/sql/key-store.ts";
import type { UserStore } from "../../storage/sql/user-store.ts";

export function findKeys({ keys }: Snapshot, ids: Iterable<string>): ReadonlyMap<string, Key> {
  const found = new Map<string, Key>();
  for (const id of ids) {
    const key = keys.findById(id);
    if (key) found.set(id, key);
  }
  return found;
}

export interface KeyNames {
  /**
   * Returns names by id. `ids`: the ids of API keys, and the callers of the playgrounds, which are ids of users and
   * `admin-token`. The id of a deleted key or user is left out.
   */
  of(ids: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  /**
   * The id of the key with this id or, if there is none, with this name: an active key before the latest of the revoked
   * and expired ones. Any other text is returned unchanged.
   */
  idOf(idOrName: string): Promise<string>;
}

/** The most names of revoked keys that are read for one list. */
const maxRevoked = 100;

export const createKeyNames = (
  snapshot: () => Snapshot,
  users: Pick<UserStore, "findById">,
  keys: Pick<KeyStore, "findById" | "findByName">,
  /** Unix milliseconds. */
  now: () => number,
): KeyNames => ({
  of: async (ids) => {
    const remaining = new Set(ids);
    const names = new Map<string, string>();
    for (const id of [...remaining].filter((each) => each.startsWith("user_"))) {
      remaining.delete(id);
      const user = await users.findById(id);
      if (user) names.set(id, user.name);
    }
    if (remaining.delete("admin-token")) names.set("admin-token", "admin token");
    for (const [id, { name }] of findKeys(snapshot(), remaining)) names.set(id, name);
    // Revoked keys are not in the snapshot. A page of a list has few of them.
    for (const id of [...remaining].filter((each) => !names.has(each)).slice(0, maxRevoked)) {
      const key = await keys.findById(id);
      if (key) names.set(id, key.name);
    }
    return names;
  },
  idOf: async (idOrName) => {
    const at = now();
    let active: string | undefined;
    let expired: string | undefined;
    for (const { id, name, expiresAt } of snapshot().keys.values()) {
      if (id === idOrName) return id;
      if (name !== idOrName) continue;
      if (expiresAt !== undefined && expiresAt <= at) expired = id;
      else active ??= id;
    }
    // Keys of vexel.yaml are not in the store.
    return active ?? (await keys.findByName(idOrName)).at(-1)?.id ?? expired ?? idOrName;
  },
});
