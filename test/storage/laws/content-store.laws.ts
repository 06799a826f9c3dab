/** Laws (contract tests) of the port `ContentStore`, for every implementation. */
import { describe, expect } from "bun:test";
import { StoreFullError } from "../../../server/storage/files/content-files.ts";
import type { ContentStore } from "../../../server/storage/ports/content-store.ts";
import { until } from "../../until.ts";
import { type Implementation, lawsOf } from "./backend.ts";

/** The most bytes that the implementations under test may store. */
export const contentMaxBytes = 100_000;

export interface ContentImplementation extends Implementation<ContentStore> {
  /** Whether the storage has this text without encryption. */
  contains(location: string, text: string): boolean;
}

const hour = 3_600_000;
const kept = new Map([["a/model", hour]]);

function put(store: ContentStore, model: string, id: string, text: string): void {
  const writer = store.begin(model, id);
  writer.append(text.slice(0, 3));
  writer.append(Buffer.from(text.slice(3)));
  writer.commit();
}

/** Whether the store had space for it. */
function putIfSpace(store: ContentStore, id: string, text: string): boolean {
  try {
    put(store, "b", id, text);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(StoreFullError);
    return false;
  }
}

const read = async (store: ContentStore, model: string, id: string): Promise<string | undefined> =>
  (await (await store.find(model, id))?.read())?.toString();

export function contentStoreLaws(implementation: ContentImplementation): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} content store`, () => {
    law("content is read by every store, and encrypted at rest", async (open, location) => {
      const [writing, reading] = [await open(Date.now), await open(Date.now)];
      put(writing, "a/model", "req_1", "a secret prompt");
      expect(await read(writing, "a/model", "req_1")).toBe("a secret prompt");
      await until(async () => (await read(reading, "a/model", "req_1")) === "a secret prompt");
      expect(await read(reading, "a/model", "req_2")).toBeUndefined();
      expect(await read(reading, "another", "req_1")).toBeUndefined();
      expect(implementation.contains(location, "secret prompt")).toBe(false);
    });

    law("content is published when it is complete, and discarded content is not", async (open) => {
      const store = await open(Date.now);
      const writer = store.begin("a/model", "req_1");
      writer.append("half");
      expect(await store.find("a/model", "req_1")).toBeUndefined();
      writer.discard();
      expect(await store.find("a/model", "req_1")).toBeUndefined();
    });

    law(
      "deleted content is gone for every store, and that of other requests is not",
      async (open) => {
        const [store, reading] = [await open(Date.now), await open(Date.now)];
        for (const id of ["req_1", "req_2"]) put(store, "a/model", id, "a prompt");
        // Also while it is being uploaded.
        await store.delete("a/model", "req_1");
        await until(async () => (await read(reading, "a/model", "req_2")) === "a prompt");
        for (const each of [store, reading])
          expect(await each.find("a/model", "req_1")).toBeUndefined();
        await reading.delete("a/model", "req_2");
        expect(await reading.find("a/model", "req_2")).toBeUndefined();
        await store.delete("a/model", "req_3");
      },
    );

    law("content expires, and that of a model that keeps none is deleted", async (open) => {
      let now = Date.now();
      const [store, reading] = [await open(() => now), await open(() => now)];
      put(store, "a/model", "req_1", "kept");
      put(store, "b", "req_1", "not kept");
      await until(async () => (await read(reading, "b", "req_1")) !== undefined);
      await until(async () => (await read(reading, "a/model", "req_1")) !== undefined);
      const { storedAt = 0 } = (await reading.find("a/model", "req_1")) ?? {};
      expect(Math.abs(storedAt - Date.now())).toBeLessThan(60_000);
      await store.sweep(kept);
      expect(await read(reading, "b", "req_1")).toBeUndefined();
      expect(await read(reading, "a/model", "req_1")).toBe("kept");
      now += hour + 60_000;
      await store.sweep(kept);
      expect(await read(reading, "a/model", "req_1")).toBeUndefined();
    });

    law("a full store refuses content until a sweep frees its space", async (open) => {
      const store = await open(Date.now);
      let count = 0;
      await until(() => !putIfSpace(store, `req_${++count}`, "x".repeat(contentMaxBytes / 2)));
      await until(async () => {
        await store.sweep(new Map());
        return putIfSpace(store, `req_${++count}`, "fits again");
      });
    });
  });
}
