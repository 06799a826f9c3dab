/** Laws (contract tests) of the port `BlobStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { BlobStore, StreamedSource } from "../../../server/storage/ports/blob-store.ts";
import { type Implementation, lawsOf, writeUntilKilled } from "./backend.ts";

/** The most bytes that the implementations under test may store. */
export const blobMaxBytes = 4 * 1024 * 1024;

const png = { type: "image/png", ttlMs: 60_000 };
const start = 1_800_000_000_000;

const streamed = (encoding: "raw" | "base64", ...chunks: string[]): StreamedSource => ({
  encoding,
  length: chunks.join("").length,
  stream: async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  },
});

const read = async (store: BlobStore, name: string): Promise<string | undefined> =>
  (await store.find(name))?.content.text();

export function blobStoreLaws(implementation: Implementation<BlobStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} blob store`, () => {
    law(
      "bytes, a stream and a base64 stream are read back exactly, with type and size",
      async (open) => {
        const store = await open(() => start);
        const bytes = await store.put(new Uint8Array([0, 255, 10, 13]), png);
        const raw = await store.put(streamed("raw", "abc", "", "def"), png);
        const base64 = await store.put(streamed("base64", "QUJD", "REVG"), png);
        const found = await store.find(bytes.name);
        expect(found).toMatchObject({ type: "image/png", size: 4 });
        expect(await found?.content.bytes()).toEqual(new Uint8Array([0, 255, 10, 13]));
        expect(await read(store, raw.name)).toBe("abcdef");
        expect(await read(store, base64.name)).toBe("ABCDEF");
      },
    );

    law("chunks that are lent in one buffer are stored as they were", async (open) => {
      const store = await open(() => start);
      const [chunks, bytes] = [40, 64 * 1024];
      const { name } = await store.put(
        {
          encoding: "raw",
          length: chunks * bytes,
          stream: async function* () {
            const buffer = new Uint8Array(bytes);
            for (let at = 0; at < chunks; at++) yield buffer.fill(at);
            buffer.fill(255);
          },
        },
        png,
      );
      const stored = await (await store.find(name))?.content.bytes();
      const expected = Array.from({ length: chunks }, (_, at) => Buffer.alloc(bytes, at));
      expect(Buffer.concat(expected).equals(stored ?? new Uint8Array())).toBe(true);
    });

    law("an empty blob and a blob of two megabytes are stored", async (open) => {
      const store = await open(() => start);
      const empty = await store.put(new Uint8Array(), png);
      const large = await store.put(new Uint8Array(2 * 1024 * 1024).fill(7), png);
      expect((await store.find(empty.name))?.size).toBe(0);
      expect((await store.find(large.name))?.size).toBe(2 * 1024 * 1024);
    });

    law("a slice reads only its part", async (open) => {
      const store = await open(() => start);
      const { name } = await store.put(Buffer.from("0123456789"), png);
      const found = await store.find(name);
      expect(await found?.content.slice(2, 5).text()).toBe("234");
    });

    law("names are unique, and an unknown name finds nothing", async (open) => {
      const store = await open(() => start);
      const names = new Set<string>();
      for (let at = 0; at < 20; at++) names.add((await store.put(Buffer.from("a"), png)).name);
      expect(names.size).toBe(20);
      for (const name of ["", "..", "../vexel.db", `${[...names][0]}/`, "a".repeat(32), "ä.png"]) {
        expect(await store.find(name)).toBeUndefined();
      }
    });

    law("a blob expires, and a sweep frees its space", async (open) => {
      let now = start;
      const store = await open(() => now);
      await store.sweep();
      const { name, expires } = await store.put(new Uint8Array(blobMaxBytes), png);
      expect(expires).toBe((start + 60_000) / 1000);
      await expect(store.put(Buffer.from("a"), png)).rejects.toMatchObject({
        kind: "storage_unavailable",
      });
      now = start + 60_000;
      expect(await store.find(name)).toBeUndefined();
      // Expired blobs stay for a moment, because a response may still be sending one.
      now += 120_000;
      await store.sweep();
      const next = await store.put(Buffer.from("a"), png);
      expect(await read(store, next.name)).toBe("a");
    });

    law("a source that fails leaves nothing behind", async (open) => {
      const store = await open(() => start);
      const failing: StreamedSource = {
        encoding: "raw",
        length: blobMaxBytes,
        stream: async function* () {
          yield Buffer.from("half");
          throw new Error("the upstream is gone");
        },
      };
      await expect(store.put(failing, png)).rejects.toThrow();
      await expect(store.put(streamed("base64", "not base64!"), png)).rejects.toMatchObject({
        kind: "upstream_invalid",
      });
      await store.put(new Uint8Array(blobMaxBytes), png);
    });

    law("two concurrent writers lose no blob", async (open) => {
      const [left, right] = [await open(() => start), await open(() => start)];
      const put = (store: BlobStore, text: string) => store.put(streamed("raw", text, text), png);
      const blobs = await Promise.all(
        Array.from({ length: 20 }, (_, at) => put(at % 2 ? left : right, `${at};`)),
      );
      for (const [at, { name }] of blobs.entries()) {
        expect(await read(at % 2 ? right : left, name)).toBe(`${at};${at};`);
      }
    });

    law(
      "a blob is readable after the store is opened again, and counts toward the limit",
      async (open) => {
        const first = await open(() => start);
        const { name } = await first.put(new Uint8Array(blobMaxBytes), png);
        const second = await open(() => start);
        await second.sweep();
        expect((await second.find(name))?.size).toBe(blobMaxBytes);
        await expect(second.put(Buffer.from("a"), png)).rejects.toThrow();
      },
    );

    law("a stored blob is whole after kill -9", async (open, location) => {
      const names = await writeUntilKilled("blobs", implementation.name, location);
      expect(names.length).toBeGreaterThan(5);
      const store = await open(Date.now);
      for (const name of names) {
        expect(await (await store.find(name))?.content.bytes()).toEqual(
          new Uint8Array(100_000).fill(7),
        );
      }
    });
  });
}
