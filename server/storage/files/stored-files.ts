/** Files in the data folder: each is written as a draft, and renamed when all of it is on the disk. */
import { mkdirSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../lib/error-code.ts";
import type { DiskReserve, DiskUse } from "../../temp-storage/disk-reserve.ts";
import type { Draft, FileChunks, FileStore, FoundFile } from "../ports/file-store.ts";
import { removeIfExists, statIfExists } from "./expiring-files.ts";
import { notStored, type WrittenDraft, writeDraft } from "./write-draft.ts";

interface StoredFilesOptions {
  readonly folder: string;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const namePattern = /^[\w-]{1,200}(?:\/[\w-][\w.-]{0,199}){0,4}$/;
export const isFileName = (name: string): boolean => namePattern.test(name);
/** Drafts have a folder of their own, which a sweep lists. No name begins with a dot. */
const draftFolder = ".drafts";
/** A draft without a write for this long belongs to a process that has ended. */
const draftMs = 6 * 3_600_000;

export class StoredFiles implements FileStore {
  readonly #options: StoredFilesOptions;

  constructor(options: StoredFilesOptions) {
    this.#options = options;
    mkdirSync(join(options.folder, draftFolder), { recursive: true, mode: 0o700 });
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
    const { path: from, size } = await this.writeDraft(chunks, use);
    let isStored = false;
    const store = async (name: string): Promise<void> => {
      const path = this.#pathOf(name);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await rename(from, path);
        isStored = true;
      } catch (error) {
        throw notStored(error);
      }
    };
    const discard = async (): Promise<void> => {
      if (!isStored) await removeIfExists(from);
    };
    return { size, store, discard };
  }

  /** Writes a file without a name, which the caller renames or deletes. */
  writeDraft(chunks: FileChunks, use: DiskUse): Promise<WrittenDraft> {
    const { folder, disk } = this.#options;
    return writeDraft({ folder: join(folder, draftFolder), disk }, chunks, use);
  }

  async find(name: string): Promise<FoundFile | undefined> {
    if (!isFileName(name)) return undefined;
    const path = this.#pathOf(name);
    const found = await statIfExists(path);
    if (!found?.isFile()) return undefined;
    const { size } = found;
    return { size, read: (from = 0, to = size) => Bun.file(path).slice(from, to).stream() };
  }

  async list(folder: string): Promise<{ name: string; size: number }[]> {
    // Only a folder that does not exist has no files: results that cannot be listed now are not lost.
    const found = await readdir(this.#pathOf(folder), { recursive: true }).catch((error) => {
      if (errorCode(error) === "ENOENT") return [];
      throw notStored(error);
    });
    const files = await Promise.all(
      found.sort().map(async (inside) => {
        const stats = await statIfExists(join(this.#pathOf(folder), inside));
        return stats?.isFile() ? [{ name: `${folder}/${inside}`, size: stats.size }] : [];
      }),
    );
    return files.flat();
  }

  async remove(name: string): Promise<void> {
    if (!(await removeIfExists(this.#pathOf(name)))) throw new Error(`${name} cannot be deleted`);
  }

  removeFolder(folder: string): Promise<void> {
    return rm(this.#pathOf(folder), { recursive: true, force: true });
  }

  async sweep(): Promise<void> {
    const { folder, now } = this.#options;
    for (const name of await readdir(join(folder, draftFolder)).catch(() => [])) {
      const path = join(folder, draftFolder, name);
      const found = await statIfExists(path);
      if (found && found.mtimeMs + draftMs < now()) await removeIfExists(path);
    }
  }

  #pathOf(name: string): string {
    if (!isFileName(name)) throw new Error(`${name} is not the name of a stored file`);
    return join(this.#options.folder, name);
  }
}
