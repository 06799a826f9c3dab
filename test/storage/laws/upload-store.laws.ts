/** Laws (contract tests) of the port `UploadStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { StoredUpload, UploadStore } from "../../../server/storage/sql/upload-store.ts";
import { type Implementation, lawsOf } from "./backend.ts";

const upload = (id: string, more: Partial<StoredUpload> = {}): StoredUpload => ({
  id,
  owner: "project:a",
  fileId: "file-1",
  bytes: 5_000_000_000,
  filename: "größe.jsonl",
  purpose: "batch",
  fileSeconds: null,
  createdAt: 1_800_000_000_000,
  expiresAt: 1_800_003_600_000,
  status: "pending",
  ...more,
});
const limits = { maxBytes: 10, maxParts: 3 };

export function uploadStoreLaws(implementation: Implementation<UploadStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} upload store`, () => {
    law("an upload is found by its owner only, with its parts", async (open) => {
      const [store, other] = [await open(), await open()];
      await store.create(upload("upload_1", { fileSeconds: 3600 }));
      expect(await other.find("project:a", "upload_1")).toEqual(
        upload("upload_1", { fileSeconds: 3600 }),
      );
      expect(await other.find("project:b", "upload_1")).toBeUndefined();
      expect(await store.addPart("upload_1", { id: "part_2", bytes: 4 }, limits)).toBe(true);
      expect(await other.addPart("upload_1", { id: "part_1", bytes: 3 }, limits)).toBe(true);
      expect(await store.parts("upload_1")).toEqual([
        { id: "part_1", bytes: 3 },
        { id: "part_2", bytes: 4 },
      ]);
      expect(await store.parts("upload_2")).toEqual([]);
    });

    law("parts are bounded by their bytes and their number, also concurrent ones", async (open) => {
      const stores = await Promise.all([open(), open()]);
      await stores[0].create(upload("upload_1"));
      await stores[0].create(upload("upload_2"));
      const add = (id: string, bytes: number) =>
        Promise.all(
          Array.from({ length: 6 }, (_, at) =>
            (stores[at % 2] as UploadStore).addPart(id, { id: `part_${at}`, bytes }, limits),
          ),
        );
      expect((await add("upload_1", 4)).filter(Boolean)).toHaveLength(2);
      expect((await add("upload_2", 0)).filter(Boolean)).toHaveLength(3);
      expect(await stores[0].addPart("none", { id: "part_1", bytes: 1 }, limits)).toBe(false);
    });

    law("an upload ends once, and then takes no part", async (open) => {
      const store = await open();
      await store.create(upload("upload_1"));
      expect(await store.end("upload_1", "completed")).toBe(true);
      expect(await store.end("upload_1", "cancelled")).toBe(false);
      expect((await store.find("project:a", "upload_1"))?.status).toBe("completed");
      expect(await store.addPart("upload_1", { id: "part_1", bytes: 1 }, limits)).toBe(false);
    });

    law("an expired upload is listed until it is removed, with its parts", async (open) => {
      const store = await open();
      await store.create(upload("upload_1", { expiresAt: 1000 }));
      await store.create(upload("upload_2", { expiresAt: 2000 }));
      await store.addPart("upload_1", { id: "part_1", bytes: 1 }, limits);
      expect(await store.expired(999, 10)).toEqual([]);
      expect((await store.expired(2000, 10)).map(({ id }) => id)).toEqual(["upload_1", "upload_2"]);
      expect(await store.expired(2000, 1)).toHaveLength(1);
      await store.remove("upload_1");
      expect(await store.parts("upload_1")).toEqual([]);
      expect((await store.expired(2000, 10)).map(({ id }) => id)).toEqual(["upload_2"]);
    });
  });
}
