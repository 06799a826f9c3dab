/**
 * Stored content of requests: one encrypted file per request, in one folder per model. The current configuration of the
 * model decides how long a file is kept. The folder of a model that no longer stores content is deleted.
 */
import { closeSync, mkdirSync, openSync, renameSync, unlinkSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { viewOf } from "../../lib/borrowed-bytes.ts";
import type { DiskReserve } from "../../temp-storage/disk-reserve.ts";
import type { SecretBox } from "../encrypt-secret.ts";
import type {
  ContentStore,
  ContentWriter,
  FoundContent,
  RetentionMs,
} from "../ports/content-store.ts";
import { removeIfExists, statIfExists, writeAll } from "./expiring-files.ts";

export interface ContentFilesOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  readonly secrets: Pick<SecretBox, "encryptChunks" | "decryptBytes">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const hashOf = (text: string): string => Bun.SHA256.hash(text, "hex");
/** Also the context of the encryption: content cannot be decrypted under another name. */
export const contentName = (model: string, requestId: string): string =>
  `content/${hashOf(model)}/${hashOf(requestId)}`;

const draftEnding = ".draft";
/** A draft that no request has written to for this long belongs to an earlier process. */
const draftMs = 24 * 60 * 60_000;

/** The message is the name of the setting that limits the space. */
export class StoreFullError extends Error {
  override readonly name = "StoreFullError";
}

export class ContentFiles implements ContentStore {
  readonly #options: ContentFilesOptions;
  #storedBytes = 0;

  constructor(options: ContentFilesOptions) {
    this.#options = options;
  }

  begin(model: string, requestId: string): ContentWriter {
    const folder = this.#folderOf(model);
    const path = join(folder, hashOf(requestId));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { head, update, end } = this.#options.secrets.encryptChunks(
      contentName(model, requestId),
    );
    const file = openSync(path + draftEnding, "wx", 0o600);
    let written = 0;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) closeSync(file);
      isOpen = false;
    };
    const discard = (): void => {
      close();
      this.#storedBytes -= written;
      written = 0;
      try {
        unlinkSync(path + draftEnding);
      } catch {
        // The file was deleted with the folder of its model, or a later sweep deletes it.
      }
    };
    const write = (bytes: Uint8Array): void => {
      this.#reserve(bytes.length);
      written += bytes.length;
      writeAll(file, bytes);
    };
    try {
      write(head);
    } catch (error) {
      discard();
      throw error;
    }
    return {
      append: (chunk) =>
        write(update(typeof chunk === "string" ? Buffer.from(chunk) : viewOf(chunk))),
      commit: () => {
        write(end());
        close();
        renameSync(path + draftEnding, path);
      },
      discard,
    };
  }

  async find(model: string, requestId: string): Promise<FoundContent | undefined> {
    const path = join(this.#folderOf(model), hashOf(requestId));
    const found = await statIfExists(path);
    if (!found) return undefined;
    return { storedAt: found.mtimeMs, read: () => this.#read(path, contentName(model, requestId)) };
  }

  async #read(path: string, context: string): Promise<Buffer | undefined> {
    try {
      return this.#options.secrets.decryptBytes(await readFile(path), context);
    } catch {
      // Deleted meanwhile, or encrypted with a key that is not known any more.
      return undefined;
    }
  }

  /** The names of all complete files. */
  async names(): Promise<string[]> {
    const found = await readdir(this.#options.folder, { recursive: true }).catch(() => []);
    return found
      .filter((path) => path.includes("/") && !path.endsWith(draftEnding))
      .map((path) => `content/${path}`);
  }

  pathOf(name: string): string {
    return join(this.#options.folder, name.slice("content/".length));
  }

  async remove(name: string): Promise<void> {
    const path = this.pathOf(name);
    const { size = 0 } = (await statIfExists(path)) ?? {};
    if (await removeIfExists(path)) this.#storedBytes = Math.max(0, this.#storedBytes - size);
  }

  delete(model: string, requestId: string): Promise<void> {
    return this.remove(contentName(model, requestId));
  }

  /** Also counts the bytes of the remaining files. */
  async sweep(retentionMs: RetentionMs): Promise<void> {
    const { now } = this.#options;
    const retentionByFolder = new Map(
      [...retentionMs].map(([model, ms]) => [this.#folderOf(model), ms]),
    );
    const before = this.#storedBytes;
    let counted = 0;
    for (const folder of await this.#folders()) {
      const ms = retentionByFolder.get(folder);
      if (ms === undefined) {
        await rm(folder, { recursive: true, force: true });
        continue;
      }
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name);
        const found = await statIfExists(path);
        if (!found) continue;
        const maxAge = name.endsWith(draftEnding) ? Math.max(ms, draftMs) : ms;
        if (found.mtimeMs + maxAge <= now()) await removeIfExists(path);
        else counted += found.size;
      }
    }
    this.#storedBytes = Math.max(0, counted + (this.#storedBytes - before));
  }

  async #folders(): Promise<string[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    return names.map((name) => join(this.#options.folder, name));
  }

  /** The id of a model may contain any character. */
  #folderOf(model: string): string {
    return join(this.#options.folder, hashOf(model));
  }

  #reserve(bytes: number): void {
    const { maxBytes, disk } = this.#options;
    if (this.#storedBytes + bytes > maxBytes) throw new StoreFullError("VEXEL_CONTENT_MAX_BYTES");
    if (!disk.hasSpace(bytes, "upload")) throw new StoreFullError("the disk");
    disk.recordWrite(bytes);
    this.#storedBytes += bytes;
  }
}
