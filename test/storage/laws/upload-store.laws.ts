/** Laws (contract tests) of the port `UploadStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { FileIndex } from "../../../server/storage/sql/file-index.ts";
import type { NewUpload, UploadStore } from "../../../server/storage/sql/upload-store.ts";
import { type Implementation, lawsOf } from "./backend.ts";

export interface UploadStorage extends UploadStore {
  /** The files that uploads become. */
  readonly files: FileIndex;
}

const upload = (number: number, more: Partial<NewUpload> = {}): NewUpload => ({
  id: `upload_${number}`,
  owner: "project:a",
  fileId: `file-${number}`,
  bytes: 5_000_000_000,
  filename: "größe.jsonl",
  purpose: "batch",
  fileSeconds: null,
  createdAt: 1_800_000_000_000,
  expiresAt: 1_800_003_600_000,
  ...more,
});
const quotas = { owner: 1e12, all: 1e12 };
const limits = { maxBytes: 10, maxParts: 3, quotas };
const pending = { status: "pending", parts: 0, partBytes: 0 } as const;
const block = 4096;

export function uploadStoreLaws(implementation: Implementation<UploadStorage>): void {
  const law = lawsOf(implementation);
  const ownSpace = async ({ files }: UploadStorage): Promise<number> => {
    const { owner, all } = await files.space("project:a");
    expect(all).toBe(owner);
    return owner;
  };

  describe(`${implementation.name} upload store`, () => {
    law("an upload is found by its owner only, with its parts", async (open) => {
      const [store, other] = [await open(), await open()];
      const added = upload(1, { fileSeconds: 3600 });
      expect(await store.create(added, quotas)).toBe("created");
      expect(await other.find("project:a", "upload_1")).toEqual({ ...added, ...pending });
      expect(await other.find("project:b", "upload_1")).toBeUndefined();
      expect(await store.addPart(added, { id: "part_2", bytes: 4 }, limits)).toBe("added");
      expect(await other.addPart(added, { id: "part_1", bytes: 3 }, limits)).toBe("added");
      expect(await store.parts("upload_1")).toEqual([
        { id: "part_1", bytes: 3 },
        { id: "part_2", bytes: 4 },
      ]);
      expect(await store.find("project:a", "upload_1")).toMatchObject({ parts: 2, partBytes: 7 });
      expect(await store.parts("upload_2")).toEqual([]);
    });

    law("parts are bounded by their bytes and their number, also concurrent ones", async (open) => {
      const stores = await Promise.all([open(), open()]);
      for (const number of [1, 2]) await stores[0].create(upload(number), quotas);
      const add = async (number: number, bytes: number) => {
        const outcomes = await Promise.all(
          Array.from({ length: 6 }, (_, at) =>
            (stores[at % 2] as UploadStore).addPart(
              upload(number),
              { id: `part_${at}`, bytes },
              limits,
            ),
          ),
        );
        return outcomes.filter((outcome) => outcome === "added");
      };
      expect(await add(1, 4)).toHaveLength(2);
      expect(await add(2, 1)).toHaveLength(3);
      const none = upload(3);
      expect(await stores[0].addPart(none, { id: "part_1", bytes: 1 }, limits)).toBe("refused");
      expect(await ownSpace(stores[0])).toBe(7 * block);
    });

    law("an upload takes space as its parts arrive, up to the quotas", async (open) => {
      const store = await open();
      const small = { owner: 3 * block + 10_000, all: 3 * block + 15_000 };
      expect(await store.create(upload(1), small)).toBe("created");
      expect(await ownSpace(store)).toBe(block);
      const most = { maxBytes: 100_000, maxParts: 10, quotas: small };
      const add = (id: string, bytes: number) =>
        store.addPart(upload(1), { id: `part_${id}`, bytes }, most);
      expect(await add("1", 1)).toBe("added");
      expect(await add("2", 10_000)).toBe("added");
      expect(await ownSpace(store)).toBe(2 * block + 10_000);
      expect(await add("3", block + 1)).toBe("owner");
      expect(await ownSpace(store)).toBe(2 * block + 10_000);
      expect(await store.create(upload(2, { owner: "project:b" }), small)).toBe("created");
      const other = upload(2, { owner: "project:b" });
      expect(await store.addPart(other, { id: "part_1", bytes: 6000 }, most)).toBe("all");
      await store.files.remove("file-2");
      await store.files.remove("file-1");
      expect(await ownSpace(store)).toBe(0);
    });

    law(
      "a completed upload is a file with the parts in their order, and their space",
      async (open) => {
        const store = await open();
        const added = upload(1, { bytes: 9000 });
        await store.create(added, quotas);
        const most = { maxBytes: 100_000, maxParts: 10, quotas };
        for (const [id, bytes] of [
          ["part_1", 5000],
          ["part_2", 20_000],
          ["part_3", 4000],
        ] as const)
          await store.addPart(added, { id, bytes }, most);
        const file = {
          id: "file-1",
          owner: "project:a",
          purpose: "batch",
          filename: "größe.jsonl",
          bytes: 9000,
          createdAt: 1_800_000_000_001,
          expiresAt: null,
        };
        const content = {
          folder: "uploads/upload_1",
          parts: [
            { id: "part_3", bytes: 4000 },
            { id: "part_1", bytes: 5000 },
          ],
        };
        expect(await store.complete(added, file, content)).toBe(true);
        expect(await store.complete(added, file, content)).toBe(false);
        expect(await store.files.find("project:a", "file-1", 0)).toEqual(file);
        expect(await store.files.parts("file-1")).toEqual(content);
        expect(await ownSpace(store)).toBe(5000 + block);
        // The file needs neither the upload nor its rows.
        await store.remove("upload_1");
        expect(await store.files.parts("file-1")).toEqual(content);
        await store.files.remove("file-1");
        expect(await store.files.parts("file-1")).toBeUndefined();
        expect(await ownSpace(store)).toBe(0);
      },
    );

    law("an upload ends once, and then takes no part", async (open) => {
      const store = await open();
      await store.create(upload(1), quotas);
      expect(await store.cancel("upload_1")).toBe(true);
      expect(await store.cancel("upload_1")).toBe(false);
      expect((await store.find("project:a", "upload_1"))?.status).toBe("cancelled");
      const part = { id: "part_1", bytes: 1 };
      expect(await store.addPart(upload(1), part, limits)).toBe("refused");
    });

    law("an expired upload is listed until it is removed, with its parts", async (open) => {
      const store = await open();
      await store.create(upload(1, { expiresAt: 1000 }), quotas);
      await store.create(upload(2, { expiresAt: 2000 }), quotas);
      await store.addPart(upload(1), { id: "part_1", bytes: 1 }, limits);
      expect(await store.expired(999, 10)).toEqual([]);
      expect((await store.expired(2000, 10)).map(({ id }) => id)).toEqual(["upload_1", "upload_2"]);
      expect(await store.expired(2000, 1)).toHaveLength(1);
      await store.remove("upload_1");
      expect(await store.parts("upload_1")).toEqual([]);
      expect((await store.expired(2000, 10)).map(({ id }) => id)).toEqual(["upload_2"]);
    });
  });
}
