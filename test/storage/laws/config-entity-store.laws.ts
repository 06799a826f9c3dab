/** Laws (contract tests) of `ConfigEntityStore`, in SQLite and PostgreSQL. */
import { describe, expect } from "bun:test";
import {
  type ConfigEntityStore,
  VersionConflict,
} from "../../../server/storage/sql/config-entity-store.ts";
import { awkwardTexts, type Implementation, lawsOf, writeUntilKilled } from "./backend.ts";

export function configEntityStoreLaws(implementation: Implementation<ConfigEntityStore>): void {
  const law = lawsOf(implementation);
  const model = (id: string, value = {}) => ({ kind: "model", id, value });
  const key = (id: string) => ({ kind: "model", id });

  describe(`${implementation.name} config entity store`, () => {
    law("a new store is empty, at revision 0", async (open) => {
      const store = await open();
      expect(await store.list()).toEqual([]);
      expect(await store.get(key("a"))).toBeUndefined();
      expect(await store.revision()).toBe(0);
    });

    law("an entity is returned as it was put, with its times and its version", async (open) => {
      const store = await open();
      const value = {
        kind: "image",
        targets: [{ upstream: "u", weight: 0.5 }],
        on: true,
        no: null,
      };
      const created = await store.put(model("a", value), 0, 1000);
      expect(created).toEqual({
        ...model("a", value),
        version: 1,
        createdAt: 1000,
        updatedAt: 1000,
      });
      const updated = await store.put(model("a", {}), created.version, 2000);
      expect(updated).toMatchObject({ value: {}, createdAt: 1000, updatedAt: 2000 });
      expect(updated.version).toBeGreaterThan(created.version);
      expect(await store.get(key("a"))).toEqual(updated);
      expect(await store.list()).toEqual([updated]);
    });

    law("any text is a valid id and a valid value", async (open) => {
      const store = await open();
      for (const text of awkwardTexts) await store.put(model(text, { text, [text]: 1 }), 0, 1);
      for (const text of awkwardTexts) {
        expect((await store.get(key(text)))?.value).toEqual({ text, [text]: 1 });
      }
      expect(await store.list()).toHaveLength(awkwardTexts.length);
    });

    law("a value of a megabyte is stored whole", async (open) => {
      const store = await open();
      const text = "ä\u0000🚀".repeat(150_000);
      await store.put(model("large", { text }), 0, 1);
      expect((await store.get(key("large")))?.value).toEqual({ text });
    });

    law("every entity is listed once, ordered by kind and id", async (open) => {
      const store = await open();
      for (const id of ["b", "a", "c"]) {
        await store.put({ kind: "upstream", id, value: {} }, 0, 1);
        await store.put(model(id), 0, 1);
      }
      expect((await store.list()).map(({ kind, id }) => `${kind} ${id}`)).toEqual([
        "model a",
        "model b",
        "model c",
        "upstream a",
        "upstream b",
        "upstream c",
      ]);
    });

    law(
      "a write with another version than the stored one is refused and changes nothing",
      async (open) => {
        const store = await open();
        const { version } = await store.put(model("a", { at: 1 }), 0, 1);
        const revision = await store.revision();
        await expect(store.put(model("a", { at: 2 }), 0, 2)).rejects.toBeInstanceOf(
          VersionConflict,
        );
        await expect(store.put(model("a", { at: 2 }), version + 1, 2)).rejects.toThrow();
        await expect(store.put(model("b"), version, 2)).rejects.toMatchObject({ version: 0 });
        await expect(store.delete(key("a"), version + 1)).rejects.toMatchObject({ version });
        await expect(store.delete(key("b"), version)).rejects.toBeInstanceOf(VersionConflict);
        expect((await store.get(key("a")))?.value).toEqual({ at: 1 });
        expect(await store.revision()).toBe(revision);
      },
    );

    law("without an expected version, the last write wins", async (open) => {
      const store = await open();
      await store.put(model("a", { at: 1 }), undefined, 1);
      await store.put(model("a", { at: 2 }), undefined, 2);
      expect((await store.get(key("a")))?.value).toEqual({ at: 2 });
    });

    law("an entity is deleted once, and its version is not used again", async (open) => {
      const store = await open();
      const { version } = await store.put(model("a"), 0, 1);
      expect(await store.delete(key("a"), version)).toBe(true);
      expect(await store.delete(key("a"), undefined)).toBe(false);
      expect(await store.get(key("a"))).toBeUndefined();
      const again = await store.put(model("a"), 0, 5);
      expect(again.createdAt).toBe(5);
      // A writer that read the deleted entity must not overwrite the new one.
      await expect(store.put(model("a", { late: true }), version, 6)).rejects.toThrow();
    });

    law(
      "the revision changes with every write and delete, also for other readers",
      async (open) => {
        const [store, reader] = [await open(), await open()];
        const revisions = [await reader.revision()];
        const { version } = await store.put(model("a"), 0, 1);
        revisions.push(await reader.revision());
        await store.put(model("a"), version, 1);
        revisions.push(await reader.revision());
        await store.delete(key("a"), undefined);
        revisions.push(await reader.revision());
        expect(new Set(revisions).size).toBe(4);
        expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
      },
    );

    law("of many writers with the same expected version, one succeeds each time", async (open) => {
      const writers = await Promise.all([open(), open(), open()]);
      let version = 0;
      for (let round = 0; round < 10; round++) {
        const results = await Promise.allSettled(
          writers.map((store, at) => store.put(model("a", { round, at }), version, round)),
        );
        const written = results.filter(({ status }) => status === "fulfilled");
        expect(written).toHaveLength(1);
        version = (await writers[0]?.get(key("a")))?.version ?? 0;
      }
    });

    law("all entities are readable after the store is closed and opened again", async (open) => {
      const store = await open();
      await store.put(model("a", { at: 1 }), 0, 1);
      await store.put(model("b"), 0, 1);
      await store.delete(key("b"), undefined);
      const [before, revision] = [await store.list(), await store.revision()];
      await store.close();
      const again = await open();
      expect(await again.list()).toEqual(before);
      expect(await again.revision()).toBe(revision);
    });

    law("a closed store rejects, and closing it again has no effect", async (open) => {
      const store = await open();
      await store.close();
      await store.close();
      await expect(store.put(model("a"), 0, 1)).rejects.toThrow();
      await expect(store.get(key("a"))).rejects.toThrow();
      await expect(store.delete(key("a"), undefined)).rejects.toThrow();
      await expect(store.list()).rejects.toThrow();
      await expect(store.revision()).rejects.toThrow();
    });

    law(
      "an entity whose write was acknowledged is readable after kill -9",
      async (open, location) => {
        const ids = await writeUntilKilled("entities", implementation.name, location);
        expect(ids.length).toBeGreaterThan(5);
        const stored = new Set((await (await open()).list()).map(({ id }) => id));
        expect(ids.filter((id) => !stored.has(id))).toEqual([]);
      },
    );
  });
}
