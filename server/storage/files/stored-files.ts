/** Files in the data folder: each is written as a draft, and renamed when all of it is on the disk. */
import { closeSync, fsync, mkdirSync, openSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type BorrowedBytes, viewOf } from "../../lib/borrowed-bytes.ts";
import { errorCode, errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { DiskReserve, DiskUse } from "../../temp-storage/disk-reserve.ts";
import type { FileChunks, FileStore, FoundFile } from "../ports/file-store.ts";
import { removeIfExists, statIfExists, writeAll } from "./expiring-files.ts";

interface StoredFilesOptions {
  readonly folder: string;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const flush = promisify(fsync);
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
    const path = this.#pathOf(name);
    const draft = await this.writeDraft(chunks, use);
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      await rename(draft.path, path);
    } catch (error) {
      await removeIfExists(draft.path);
      throw notStored(error);
    }
    return draft.size;
  }

  /** Writes a file without a name, which the caller renames or deletes. */
  async writeDraft(chunks: FileChunks, use: DiskUse): Promise<{ path: string; size: number }> {
    const path = join(this.#options.folder, draftFolder, Bun.randomUUIDv7());
    const file = openDraft(path);
    let size = 0;
    try {
      for await (const chunk of chunks) {
        this.#append(file, chunk, use);
        size += chunk.length;
      }
      await flush(file);
    } catch (error) {
      // If it cannot be deleted now, a sweep does it.
      await removeIfExists(path);
      throw error;
    } finally {
      closeSync(file);
    }
    return { path, size };
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

  /** Synchronously, into the page cache: a reader that waited here would read ahead from the socket. */
  #append(file: number, chunk: BorrowedBytes, use: DiskUse): void {
    const { disk } = this.#options;
    if (!disk.hasSpace(chunk.length, use)) throw diskFull();
    disk.recordWrite(chunk.length);
    try {
      writeAll(file, viewOf(chunk));
    } catch (error) {
      throw notStored(error);
    }
  }

  #pathOf(name: string): string {
    if (!isFileName(name)) throw new Error(`${name} is not the name of a stored file`);
    return join(this.#options.folder, name);
  }
}

function openDraft(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    throw notStored(error);
  }
}

const notStored = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "The file could not be stored. Retry later.", {
    cause,
    retryAfterMs: 5000,
    logDetail: errorMessage(cause),
  });

const diskFull = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The gateway's disk is almost full, and the rest is kept for its ledger. Ask its operator to free space on the disk under VEXEL_DATA.",
    { retryAfterMs: 60_000 },
  );
