/** Laws (contract tests) of the port `ResponseStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { ResponseStore } from "../../../server/storage/ports/response-store.ts";
import { awkwardTexts, type Implementation, lawsOf, writeUntilKilled } from "./backend.ts";

/** The time to live of responses in the implementations under test. */
export const responseTtlMs = 60_000;
/** The most bytes that the implementations under test may store. */
export const responseMaxBytes = 4 * 1024 * 1024;

const metadata = {
  requestId: "req_1",
  fingerprint: "f".repeat(64),
  headers: { "content-type": "application/json", "x-text": "Grüße" },
};

async function save(store: ResponseStore, names: readonly string[], ...chunks: string[]) {
  const writer = store.begin("key_1");
  for (const chunk of chunks) writer.append(chunk);
  await writer.commit(names, metadata);
}

async function read(store: ResponseStore, name: string): Promise<string | undefined> {
  const found = await store.find(name);
  if (!found) return undefined;
  const body: Uint8Array[] = [];
  for await (const chunk of found.open()) body.push(chunk);
  expect(Buffer.concat(body)).toHaveLength(found.length);
  return Buffer.concat(body).toString();
}

export function responseStoreLaws(implementation: Implementation<ResponseStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} response store`, () => {
    law("a response is found by each of its lookup keys, with its metadata", async (open) => {
      const store = await open();
      await save(store, ["a", "b"], "first ", "second");
      expect(await store.find("a")).toMatchObject({ ...metadata, length: 12 });
      expect(await read(store, "a")).toBe("first second");
      expect(await read(store, "b")).toBe("first second");
      expect(await store.find("c")).toBeUndefined();
    });

    law("metadata are kept in any script", async (open) => {
      const [one, other] = [await open(), await open()];
      for (const [at, text] of awkwardTexts.entries()) {
        const about = { requestId: text, fingerprint: text, headers: { "x-text": text } };
        const writer = one.begin("key_1");
        writer.append(text);
        await writer.commit([`name-${at}`], { ...about, isAbandoned: true });
        expect(await other.find(`name-${at}`)).toMatchObject({ ...about, isAbandoned: true });
      }
    });

    law("bodies of any length are read back exactly by another store", async (open) => {
      const [one, other] = [await open(), await open()];
      const mebibyte = 1024 * 1024;
      for (const length of [0, 1, mebibyte - 1, mebibyte]) {
        const body = Buffer.alloc(length);
        for (let at = 0; at < length; at++) body[at] = (at * 31 + (at >> 8)) & 0xff;
        const writer = one.begin("key_1");
        writer.append(body);
        await writer.commit([`of-${length}`], metadata);
        const found = await other.find(`of-${length}`);
        const read = Buffer.concat(await Array.fromAsync(found?.open() ?? []));
        expect(read.equals(body), `${length} bytes`).toBe(true);
      }
    });

    law("text, bytes and an empty body are read back exactly", async (open) => {
      const store = await open();
      await save(store, ["texts"], ...awkwardTexts);
      await save(store, ["empty"]);
      expect(await read(store, "texts")).toBe(awkwardTexts.join(""));
      expect(await read(store, "empty")).toBe("");
    });

    law("a response of a megabyte is stored whole", async (open) => {
      const store = await open();
      const chunk = "x".repeat(64 * 1024);
      await save(store, ["large"], ...Array.from({ length: 16 }, () => chunk));
      expect((await read(store, "large"))?.length).toBe(1024 * 1024);
    });

    law("nothing is found before the commit, or after a discard", async (open) => {
      const store = await open();
      const writer = store.begin("key_1");
      writer.append("half");
      expect(await store.find("a")).toBeUndefined();
      await writer.discard();
      await writer.discard();
      expect(await store.find("a")).toBeUndefined();
    });

    law("a later response with the same lookup key replaces the earlier one", async (open) => {
      const store = await open();
      await save(store, ["a"], "earlier");
      await save(store, ["a"], "later");
      expect(await read(store, "a")).toBe("later");
    });

    law("a response expires", async (open) => {
      let now = 1_800_000_000_000;
      const store = await open(() => now);
      await save(store, ["a"], "body");
      now += responseTtlMs - 1;
      expect(await read(store, "a")).toBe("body");
      now += 1;
      expect(await store.find("a")).toBeUndefined();
    });

    law("two concurrent writers do not mix their bytes", async (open) => {
      const [left, right] = [await open(), await open()];
      const [one, two] = [left.begin("key_1"), right.begin("key_1")];
      for (let at = 0; at < 100; at++) {
        one.append("l");
        two.append("r");
      }
      await Promise.all([one.commit(["left"], metadata), two.commit(["right"], metadata)]);
      expect(await read(right, "left")).toBe("l".repeat(100));
      expect(await read(left, "right")).toBe("r".repeat(100));
    });

    law("a response is readable after the store is opened again", async (open) => {
      await save(await open(), ["a"], "body");
      expect(await read(await open(), "a")).toBe("body");
    });

    law("a full store throws, and has space again after a discard", async (open) => {
      const store = await open();
      const writer = store.begin("key_1");
      const chunk = "x".repeat(1024 * 1024);
      expect(() => {
        for (let bytes = 0; bytes <= responseMaxBytes; bytes += chunk.length) writer.append(chunk);
      }).toThrow();
      await writer.discard();
      await save(store, ["a"], chunk);
      expect((await store.find("a"))?.length).toBe(chunk.length);
    });

    law(
      "a committed response is whole after kill -9, and others are absent",
      async (open, location) => {
        const names = await writeUntilKilled("responses", implementation.name, location);
        expect(names.length).toBeGreaterThan(5);
        const store = await open(Date.now);
        for (const name of names) expect(await read(store, name)).toBe(`${name};`.repeat(20));
        expect(await store.find(`w${names.length + 1}`)).toBeUndefined();
      },
    );
  });
}
