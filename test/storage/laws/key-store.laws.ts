/** Laws (contract tests) of the port `KeyStore`, for every implementation. */
import { describe, expect } from "bun:test";
import { VersionConflict } from "../../../server/storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../../server/storage/sql/key-store.ts";
import type { KeySearch } from "../../../server/storage/sql/stored-key.ts";
import {
  allPages,
  awkwardTexts,
  type Implementation,
  lawsOf,
  writeUntilKilled,
} from "./backend.ts";
import { newKey } from "./new-key.ts";

const readAll = async (store: KeyStore) => {
  const { changes, ...rest } = await store.changesSince(0, 1000);
  return { ids: changes.map(({ key }) => key.id), changes, ...rest };
};

export function keyStoreLaws(implementation: Implementation<KeyStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} key store`, () => {
    law("a new store is empty, at revision 0", async (open) => {
      const store = await open();
      expect(await store.list({ limit: 10 })).toEqual({ entries: [] });
      expect(await store.revision()).toBe(0);
      expect(await store.changesSince(0, 10)).toEqual({ changes: [], revision: 0, hasMore: false });
      expect(await store.findActive("")).toEqual([]);
    });

    law("a key is returned with all of its settings", async (open) => {
      const store = await open();
      const key = newKey("a", {
        models: ["text-*", "dall-e-3"],
        defaults: { embedding: "text-1" },
        project: "web",
        limits: { requestsPerMinute: 5, megapixelsPerMinute: 0.5 },
        budget: { day: 1.25, unknownPrice: "refuse" },
        parameters: "strict",
        expiresAt: 2_000_000_000_000,
      });
      await store.create(key);
      const stored = { ...key, revokedAt: null, version: 1 };
      expect((await store.list({ limit: 10 })).entries).toEqual([stored]);
      expect(await store.findActive("a")).toEqual([stored]);
      expect((await readAll(store)).changes).toEqual([{ key: stored, isNew: true }]);
    });

    law("any text is a valid name, and is returned exactly", async (open) => {
      const store = await open();
      for (const [index, name] of awkwardTexts.entries()) {
        await store.create(newKey(`k${index}`, { name, models: [name] }));
      }
      for (const [index, name] of awkwardTexts.entries()) {
        const found = await store.findActive(name);
        expect(found.map(({ id }) => id)).toEqual([`k${index}`]);
        expect(found[0]?.models).toEqual([name]);
      }
    });

    law("a key with a megabyte of settings is stored whole", async (open) => {
      const store = await open();
      const models = Array.from({ length: 20_000 }, (_, at) => `${at}-${"m".repeat(50)}`);
      await store.create(newKey("large", { models }));
      expect((await store.findActive("large"))[0]?.models).toEqual(models);
    });

    law("a second key with the same id or hash is refused, and nothing changes", async (open) => {
      const store = await open();
      await store.create(newKey("a"));
      await expect(store.create(newKey("a", { hash: "other" }))).rejects.toThrow();
      await expect(store.create(newKey("b", { hash: "hash of a" }))).rejects.toThrow();
      expect((await readAll(store)).ids).toEqual(["a"]);
      expect(await store.revision()).toBe(1);
    });

    law("a key is revoked once", async (open) => {
      const store = await open();
      await store.create(newKey("a"));
      expect(await store.revoke("a", 5000)).toBe(true);
      expect(await store.revoke("a", 6000)).toBe(false);
      expect(await store.revoke("unknown", 6000)).toBe(false);
      expect((await store.findById("a"))?.revokedAt).toBe(5000);
      expect(await store.findById("unknown")).toBeUndefined();
      expect((await store.list({ limit: 10 })).entries[0]?.revokedAt).toBe(5000);
      expect(await store.findActive("a")).toEqual([]);
      expect(await store.revision()).toBe(2);
    });

    law("an update replaces the settings of an active key, and readers get it", async (open) => {
      const store = await open();
      await store.create(newKey("a", { limits: { concurrent: 2 }, expiresAt: 9000 }));
      const { name, models, limits, expiresAt, ...fixed } = newKey("a");
      const update = { name: "new", models: ["m-*"], defaults: { image: "m-1" } };
      const updated = { ...fixed, ...update, revokedAt: null, version: 2 };
      expect(await store.update("a", update)).toEqual(updated);
      expect(await store.findActive("new")).toEqual([updated]);
      expect((await store.changesSince(1, 10)).changes).toEqual([{ key: updated, isNew: false }]);
      await store.revoke("a", 5000);
      expect(await store.update("a", update)).toBeUndefined();
      expect(await store.update("unknown", update)).toBeUndefined();
      expect(await store.revision()).toBe(3);
    });

    law("of two concurrent updates of one version, one is refused", async (open) => {
      const store = await open();
      const { version } = await store.create(newKey("a"));
      const updates = ["first", "second"].map((name) =>
        store.update("a", { name, models: ["*"] }, version),
      );
      const outcomes = await Promise.allSettled(updates);
      const refused = outcomes.filter(({ status }) => status === "rejected");
      expect(refused).toHaveLength(1);
      expect(refused[0]).toHaveProperty("reason", expect.any(VersionConflict));
      expect((await store.findById("a"))?.version).toBe(2);
      expect(await store.update("a", { name: "third", models: ["*"] }, 2)).toHaveProperty(
        "name",
        "third",
      );
    });

    law("of two concurrent rotations, one creates a successor", async (open) => {
      const store = await open();
      for (const end of [{ revokeAt: 5000 }, { expireAt: 5000 }]) {
        const [id] = Object.keys(end) as [string];
        const { version } = await store.create(newKey(id));
        const successors = [newKey(`first of ${id}`), newKey(`second of ${id}`)];
        const outcomes = await Promise.allSettled(
          successors.map((successor) => store.rotate(id, successor, end, version)),
        );
        // The other one finds another version, or no active key any more.
        const created = outcomes.filter(
          (outcome) => outcome.status === "fulfilled" && outcome.value !== undefined,
        );
        expect(created).toHaveLength(1);
        const found = await Promise.all(successors.map((each) => store.findById(each.id)));
        expect(found.filter((each) => each !== undefined)).toHaveLength(1);
        const old = await store.findById(id);
        expect([old?.revokedAt, old?.expiresAt]).toEqual(
          "revokeAt" in end ? [5000, undefined] : [null, 5000],
        );
      }
      const unknown = await store.rotate("unknown", newKey("d"), { revokeAt: 1 }, 1);
      expect(unknown).toBeUndefined();
    });

    law("all active keys of a name are found", async (open) => {
      const store = await open();
      for (const id of ["a", "b", "c"]) await store.create(newKey(id, { name: "same" }));
      await store.revoke("b", 1);
      expect((await store.findActive("same")).map(({ id }) => id)).toEqual(["a", "c"]);
      expect((await store.findByName("same")).map(({ id }) => id)).toEqual(["a", "b", "c"]);
      expect(await store.findByName("a")).toEqual([]);
    });

    law("pages of any size list every key once, in the order of creation", async (open) => {
      const store = await open();
      const times = [3, 1, 2, 1, 3, 2, 1];
      for (const [index, createdAt] of times.entries()) {
        await store.create(newKey(`k${index}`, { createdAt }));
      }
      const expected = ["k1", "k3", "k6", "k2", "k5", "k0", "k4"];
      for (const limit of [1, 2, 3, 7, 100]) {
        const listed = await allPages((page) => store.list(page), limit);
        expect(listed.map(({ id }) => id)).toEqual(expected);
      }
    });

    law(
      "a search lists the keys of the projects that contain the text, newest first",
      async (open) => {
        const store = await open();
        const projects = ["web", 'q"uote', "we", undefined, "Web", "web", "web%"];
        for (const [at, project] of projects.entries()) {
          const defaults = { embedding: '"project":"web"' };
          const name = at === 5 ? "Ops_100%" : `app-${at}`;
          await store.create(
            newKey(`k${at}`, { name, createdAt: at, defaults, ...(project && { project }) }),
          );
        }
        await store.revoke("k0", 9);
        const search = async (query: Pick<KeySearch, "projects" | "text">, limit: number) => {
          const found = await allPages((page) => store.search({ ...page, ...query }), limit);
          return found.map(({ id }) => id);
        };
        for (const limit of [1, 2, 100]) {
          expect(await search({}, limit)).toEqual(["k6", "k5", "k4", "k3", "k2", "k1", "k0"]);
          expect(await search({ projects: ["web"] }, limit)).toEqual(["k5", "k0"]);
          expect(await search({ projects: ['q"uote', "we"] }, limit)).toEqual(["k2", "k1"]);
          expect(await search({ projects: [] }, limit)).toEqual([]);
          expect(await search({ text: "ops_" }, limit)).toEqual(["k5"]);
          expect(await search({ text: "APP%" }, limit)).toEqual([]);
          expect(await search({ text: "K3" }, limit)).toEqual(["k3"]);
          expect(await search({ text: "VX-ab", projects: ["we"] }, limit)).toEqual(["k2"]);
        }
      },
    );

    law(
      "a reader gets each key that changed after its revision once, in its current state",
      async (open) => {
        const store = await open();
        for (const id of ["a", "b", "c"]) await store.create(newKey(id));
        const first = await readAll(store);
        expect(first.ids).toEqual(["a", "b", "c"]);
        await store.revoke("a", 7);
        await store.create(newKey("d"));
        await store.revoke("d", 8);
        const { changes, revision } = await store.changesSince(first.revision, 10);
        expect(changes.map(({ key, isNew }) => [key.id, isNew, key.revokedAt])).toEqual([
          ["a", false, 7],
          ["d", true, 8],
        ]);
        expect(revision).toBe(await store.revision());
        expect(await store.changesSince(revision, 10)).toEqual({
          changes: [],
          revision,
          hasMore: false,
        });
      },
    );

    law("changes are paged without a gap", async (open) => {
      const store = await open();
      for (let at = 0; at < 7; at++) await store.create(newKey(`k${at}`));
      const observed: string[] = [];
      let revision = 0;
      for (let hasMore = true; hasMore; ) {
        const page = await store.changesSince(revision, 3);
        observed.push(...page.changes.map(({ key }) => key.id));
        ({ revision, hasMore } = page);
      }
      expect(observed).toEqual(["k0", "k1", "k2", "k3", "k4", "k5", "k6"]);
    });

    law(
      "two concurrent writers lose no key, and a reader sees the changes of both",
      async (open) => {
        const [left, right, reader] = [await open(), await open(), await open()];
        const write = async (store: KeyStore, side: string): Promise<void> => {
          for (let at = 0; at < 25; at++) {
            await store.create(newKey(`${side}${at}`));
            if (at % 5 === 0) await store.revoke(`${side}${at}`, at);
          }
        };
        await Promise.all([write(left, "l"), write(right, "r")]);
        const { ids, revision } = await readAll(reader);
        expect(new Set(ids).size).toBe(50);
        expect(revision).toBe(60);
        expect(await left.revision()).toBe(60);
      },
    );

    law("of two writers that revoke the same key, one succeeds", async (open) => {
      const [left, right] = [await open(), await open()];
      await left.create(newKey("a"));
      const results = await Promise.all([left.revoke("a", 1), right.revoke("a", 2)]);
      expect(results.toSorted()).toEqual([false, true]);
    });

    law("all keys are readable after the store is closed and opened again", async (open) => {
      const store = await open();
      await store.create(newKey("a"));
      await store.create(newKey("b"));
      await store.revoke("a", 9);
      const before = await readAll(store);
      await store.close();
      expect(await readAll(await open())).toEqual(before);
    });

    law("a closed store rejects, and closing it again has no effect", async (open) => {
      const store = await open();
      await store.close();
      await store.close();
      await expect(store.create(newKey("a"))).rejects.toThrow();
      await expect(store.list({ limit: 1 })).rejects.toThrow();
      await expect(store.revoke("a", 1)).rejects.toThrow();
      await expect(store.changesSince(0, 1)).rejects.toThrow();
      await expect(store.revision()).rejects.toThrow();
    });

    law(
      "a key whose creation was acknowledged is readable after kill -9",
      async (open, location) => {
        const ids = await writeUntilKilled("keys", implementation.name, location);
        expect(ids.length).toBeGreaterThan(5);
        const store = await open();
        const stored = new Set((await readAll(store)).ids);
        expect(ids.filter((id) => !stored.has(id))).toEqual([]);
        await store.create(newKey("after"));
      },
    );
  });
}
