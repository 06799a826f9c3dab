/**
 * Files in an object store. Each is written to the local disk first, and uploaded from there: a client may send a file
 * more slowly than an upload to the object store may last.
 */
import type { DiskUse } from "../../temp-storage/disk-reserve.ts";
import { removeIfExists } from "../files/expiring-files.ts";
import { isFileName, type StoredFiles } from "../files/stored-files.ts";
import type { Draft, FileChunks, FileStore, FoundFile } from "../ports/file-store.ts";
import type { ObjectStore } from "./object-store.ts";

const prefix = "files/";

export class S3Files implements FileStore {
  readonly #objects: ObjectStore;
  readonly #drafts: Pick<StoredFiles, "writeDraft" | "sweep">;

  constructor(objects: ObjectStore, drafts: Pick<StoredFiles, "writeDraft" | "sweep">) {
    this.#objects = objects;
    this.#drafts = drafts;
  }

  async write(name: string, chunks: FileChunks, use: DiskUse = "response"): Promise<number> {
    const draft = await this.draft(chunks, use);
    try {
      await draft.store(name);
    } finally {
      await draft.discard();
    }
    return draft.size;
  }

  async draft(chunks: FileChunks, use: DiskUse): Promise<Draft> {
    const { path, size } = await this.#drafts.writeDraft(chunks, use);
    const store = (name: string): Promise<void> => {
      const content = Bun.file(path).stream();
      return this.#objects.write(prefix + name, content, "application/octet-stream", size);
    };
    return { size, store, discard: async () => void (await removeIfExists(path)) };
  }

  async find(name: string): Promise<FoundFile | undefined> {
    const found = isFileName(name) ? await this.#objects.find(prefix + name) : undefined;
    if (!found) return undefined;
    const { size, content } = found;
    return { size, read: (from = 0, to = size) => content.slice(from, to).stream() };
  }

  async list(folder: string): Promise<{ name: string; size: number }[]> {
    const objects = await this.#objects.list(`${prefix}${folder}/`);
    return objects
      .map(({ key, size }) => ({ name: key.slice(prefix.length), size }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  remove(name: string): Promise<void> {
    return this.#objects.remove(prefix + name);
  }

  async removeFolder(folder: string): Promise<void> {
    await this.#objects.sweep(`${prefix}${folder}/`, () => true);
  }

  sweep(): Promise<void> {
    return this.#drafts.sweep();
  }
}
