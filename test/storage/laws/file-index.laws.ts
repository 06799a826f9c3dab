/** Laws (contract tests) of the port `FileIndex`, for every implementation. */
import { describe, expect } from "bun:test";
import type { FileIndex, StoredFile } from "../../../server/storage/sql/file-index.ts";
import { awkwardTexts, type Implementation, lawsOf } from "./backend.ts";

const file = (id: string, more: Partial<StoredFile> = {}): StoredFile => ({
  id,
  owner: "project:a",
  purpose: "batch",
  filename: "in.jsonl",
  bytes: 10_000,
  createdAt: 1000,
  expiresAt: null,
  ...more,
});

async function add(index: FileIndex, added: StoredFile): Promise<void> {
  expect(await index.reserve(added)).toBe("reserved");
  expect(await index.complete(added)).toBe(true);
}

const listed = async (
  index: FileIndex,
  query: Partial<Parameters<FileIndex["list"]>[0]> = {},
): Promise<string[]> =>
  (await index.list({ owner: "project:a", order: "desc", limit: 10, now: 0, ...query })).map(
    ({ id }) => id,
  );

export function fileIndexLaws(implementation: Implementation<FileIndex>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} file index`, () => {
    law("a file is found by its owner only, once it is complete", async (open) => {
      const [index, other] = [await open(), await open()];
      const added = file("file-1", { bytes: 3_000_000_000, expiresAt: 5_000_000_000_000 });
      await index.reserve(added);
      expect(await other.find("project:a", "file-1", 0)).toBeUndefined();
      expect(await listed(other)).toEqual([]);
      await index.complete(added);
      expect(await other.find("project:a", "file-1", 0)).toEqual(added);
      expect(await other.find("project:b", "file-1", 0)).toBeUndefined();
      expect(await listed(other, { owner: "project:b" })).toEqual([]);
      expect(await index.complete(added)).toBe(false);
    });

    law("names and owners are kept as they are", async (open) => {
      const index = await open();
      for (const [at, text] of awkwardTexts.entries()) {
        await add(index, file(`file-${at}`, { filename: text, owner: `key:${text}` }));
        expect((await index.find(`key:${text}`, `file-${at}`, 0))?.filename).toBe(text);
      }
    });

    law("files are listed by creation, in pages, and by purpose", async (open) => {
      const index = await open();
      for (const id of ["file-1", "file-2", "file-A", "file-a"]) await add(index, file(id));
      await add(index, file("file-b", { purpose: "vision" }));
      expect(await listed(index)).toEqual(["file-b", "file-a", "file-A", "file-2", "file-1"]);
      expect(await listed(index, { limit: 2, after: "file-a" })).toEqual(["file-A", "file-2"]);
      expect(await listed(index, { order: "asc", limit: 2, after: "file-1" })).toEqual([
        "file-2",
        "file-A",
      ]);
      expect(await listed(index, { purpose: "vision" })).toEqual(["file-b"]);
    });

    law("an expired or hidden file is not seen, and is to be deleted", async (open) => {
      const index = await open();
      await add(index, file("file-1", { expiresAt: 2000 }));
      await add(index, file("file-2"));
      await add(index, file("file-3"));
      await index.reserve(file("file-4", { createdAt: 500 }));
      expect(await index.hide("project:b", "file-2", 0)).toBe(false);
      expect(await index.hide("project:a", "file-2", 0)).toBe(true);
      expect(await index.hide("project:a", "file-2", 0)).toBe(false);
      expect(await index.hide("project:a", "file-1", 2000)).toBe(false);
      expect(await index.find("project:a", "file-1", 2000)).toBeUndefined();
      expect(await listed(index, { now: 2000 })).toEqual(["file-3"]);
      expect(await index.deletable(1999, 500, 10)).toEqual(["file-2"]);
      expect(await index.deletable(2000, 501, 10)).toEqual(["file-1", "file-2", "file-4"]);
      expect(await index.deletable(2000, 501, 1)).toEqual(["file-1"]);
      for (const id of ["file-1", "file-2", "file-4"]) await index.remove(id);
      expect(await index.deletable(2000, 501, 10)).toEqual([]);
      expect(await index.complete(file("file-4"))).toBe(false);
    });

    law(
      "reserved and hidden files count toward the quotas until they are removed",
      async (open) => {
        const index = await open();
        const quotas = { owner: 25_000, all: 40_000 };
        expect(await index.reserve(file("file-1"), quotas)).toBe("reserved");
        await add(index, file("file-2"));
        await index.hide("project:a", "file-2", 0);
        expect(await index.reserve(file("file-3"), quotas)).toBe("owner");
        const other = { owner: "project:b" };
        expect(await index.reserve(file("file-4", other), quotas)).toBe("reserved");
        expect(await index.reserve(file("file-5", { ...other, bytes: 10_001 }), quotas)).toBe(
          "all",
        );
        // A small file counts as one block.
        expect(await index.reserve(file("file-6", { bytes: 0 }), quotas)).toBe("reserved");
        expect(await index.reserve(file("file-7", { bytes: 0 }), quotas)).toBe("owner");
        await index.remove("file-2");
        expect(await index.reserve(file("file-7", { bytes: 0 }), quotas)).toBe("reserved");
        // The results of paid requests are stored although the quota is used up.
        expect(await index.reserve(file("file-8", { bytes: 1e12 }))).toBe("reserved");
      },
    );

    law("concurrent reservations do not exceed a quota together", async (open) => {
      const indexes = await Promise.all([open(), open(), open()]);
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          (indexes[at % 3] as FileIndex).reserve(file(`file-${at}`), { owner: 50_000, all: 1e9 }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === "reserved")).toHaveLength(5);
    });
  });
}
