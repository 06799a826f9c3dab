/** The keys that a name stands for in the filters of the admin API. */
import { expect, test } from "bun:test";
import { createKeyNames } from "../../server/admin/reads/key-names.ts";
import type { Key, Snapshot } from "../../server/config/snapshot.ts";
import type { StoredKey } from "../../server/storage/sql/stored-key.ts";

const now = 1000;
const key = (id: string, expiresAt?: number) => ({ id, name: "app", expiresAt });

const idOf = (active: readonly object[], stored: readonly object[] = []): Promise<string> =>
  createKeyNames(
    () =>
      ({
        keys: new Map(active.map((each, at) => [String(at), each as Key])),
      }) as unknown as Snapshot,
    { findById: async () => undefined },
    { findById: async () => undefined, findByName: async () => stored as readonly StoredKey[] },
    () => now,
  ).idOf("app");

test("a name stands for the active key before an expired key of the same name", async () => {
  expect(await idOf([key("key_old", now), key("key_new")])).toBe("key_new");
  expect(await idOf([key("key_old", now), key("key_new", now + 1)])).toBe("key_new");
});

test("a name without an active key stands for the latest of the revoked and expired keys", async () => {
  const [old, revoked] = [key("key_old", now), key("key_revoked")];
  expect(await idOf([old], [old, revoked])).toBe("key_revoked");
  expect(await idOf([old])).toBe("key_old");
  expect(await idOf([])).toBe("app");
});
