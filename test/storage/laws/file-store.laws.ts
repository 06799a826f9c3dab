/** Laws (contract tests) of the port `FileStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { FileStore } from "../../../server/storage/ports/file-store.ts";
import { type Implementation, lawsOf } from "./backend.ts";

const bytesOf = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));

async function read(
  store: FileStore,
  name: string,
  ...range: number[]
): Promise<string | undefined> {
  const found = await store.find(name);
  return (
    found && Bun.readableStreamToText(new Response(found.read(...range)).body as ReadableStream)
  );
}

export function fileStoreLaws(implementation: Implementation<FileStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} file store`, () => {
    law("a file is read back exactly, whole and in part, by every store", async (open) => {
      const [writing, reading] = [await open(), await open()];
      expect(await writing.write("file-1", bytesOf("abc", "", "defg"))).toBe(7);
      expect((await reading.find("file-1"))?.size).toBe(7);
      expect(await read(reading, "file-1")).toBe("abcdefg");
      expect(await read(reading, "file-1", 2)).toBe("cdefg");
      expect(await read(reading, "file-1", 2, 4)).toBe("cd");
    });

    law("chunks that are lent in one buffer are stored as they were", async (open) => {
      const store = await open();
      const [chunks, bytes] = [120, 64 * 1024];
      const lent = async function* () {
        const buffer = new Uint8Array(bytes);
        for (let at = 0; at < chunks; at++) yield buffer.fill(at);
        buffer.fill(255);
      };
      expect(await store.write("large", lent(), "upload")).toBe(chunks * bytes);
      const found = await store.find("large");
      const hash = new Bun.CryptoHasher("sha256");
      for await (const chunk of found?.read() ?? []) hash.update(chunk);
      const expected = new Bun.CryptoHasher("sha256");
      for (let at = 0; at < chunks; at++) expected.update(new Uint8Array(bytes).fill(at));
      expect(hash.digest("hex")).toBe(expected.digest("hex"));
    });

    law("an empty file is stored", async (open) => {
      const store = await open();
      expect(await store.write("empty", [])).toBe(0);
      expect(await read(store, "empty")).toBe("");
    });

    law("a file whose source fails is not stored, and replaces nothing", async (open) => {
      const store = await open();
      const failing = async function* () {
        yield Buffer.from("half");
        throw new Error("the client is gone");
      };
      await expect(store.write("file-1", failing())).rejects.toThrow("the client is gone");
      expect(await store.find("file-1")).toBeUndefined();
      await store.write("file-1", bytesOf("whole"));
      await expect(store.write("file-1", failing())).rejects.toThrow();
      expect(await read(store, "file-1")).toBe("whole");
    });

    law("the files of a folder are listed in order, and removed together", async (open) => {
      const store = await open();
      for (const name of ["jobs/a/2.jsonl", "jobs/a/1.jsonl", "jobs/ab/1.jsonl", "file-1"])
        await store.write(name, bytesOf(name));
      expect(await store.list("jobs/a")).toEqual([
        { name: "jobs/a/1.jsonl", size: 14 },
        { name: "jobs/a/2.jsonl", size: 14 },
      ]);
      await store.removeFolder("jobs/a");
      expect(await store.list("jobs/a")).toEqual([]);
      expect(await read(store, "jobs/ab/1.jsonl")).toBe("jobs/ab/1.jsonl");
      await store.remove("file-1");
      await store.remove("file-1");
      expect(await store.find("file-1")).toBeUndefined();
      await store.removeFolder("jobs/none");
    });

    law("a sweep leaves complete files alone", async (open) => {
      const store = await open(() => Date.now() + 86_400_000);
      await store.write("file-1", bytesOf("a"));
      await store.sweep();
      expect(await read(store, "file-1")).toBe("a");
    });

    law("an unknown or unsafe name finds nothing", async (open) => {
      const store = await open();
      for (const name of ["none", "../vexel.db", "a/../../vexel.db"])
        expect(await store.find(name)).toBeUndefined();
    });
  });
}
