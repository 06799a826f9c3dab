/** Images on disk for clients that requested links: unguessable names, an expiry, bounded size and count. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { open, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { viewOf } from "../../lib/borrowed-bytes.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { extensionOf, typeOfExtension } from "../../lib/sniff-image.ts";
import type { DiskReserve } from "../../temp-storage/disk-reserve.ts";
import { blobChunks, blobError, blobSize } from "../blob-source.ts";
import type {
  BlobMetadata,
  BlobSource,
  BlobStore,
  FoundBlob,
  PutBlob,
} from "../ports/blob-store.ts";
import { removeIfExists, statIfExists, writeAll } from "./expiring-files.ts";

export interface ImageFilesOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** 32 characters in base64url: the name of a link cannot be guessed. */
const linkRandomBytes = 24;
const namePattern = /^[A-Za-z0-9_-]{32}\.(png|jpg|webp|gif|svg|avif|bin)$/;
/** The extension of a file that is still being written. */
const draftEnding = ".draft";
/** A draft without a write for this long belongs to a process that has ended. */
const draftMs = 3_600_000;
/** A file is deleted a little after it expires, as a response may still be sending it. */
const graceMs = 60_000;
/** After this long, a file that could not be deleted is tried again. */
const retryMs = 60_000;
/** The longest `retry-after` of a store that is full. */
const longestWaitMs = 60_000;

/** The list of all files is in memory, about 100 bytes each. */
const maxFiles = 100_000;

interface StoredFile {
  readonly size: number;
  /** Unix milliseconds from which on it may be deleted. */
  readonly deleteAt: number;
}

export class ImageFiles implements BlobStore {
  readonly #options: ImageFilesOptions;
  /**
   * Every file of the folder by its name, once the files of earlier processes are counted. A sweep does not list the
   * folder again.
   */
  readonly #files = new Map<string, StoredFile>();
  #storedBytes = 0;
  /** Files that are being written and are not in the list yet. */
  #writing = 0;
  /** Names of this process's files, until the files of earlier processes are counted. */
  #own: Set<string> | undefined = new Set();
  #counting: Promise<void> | undefined;

  constructor(options: ImageFilesOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  async put(source: BlobSource, { type, ttlMs }: BlobMetadata): Promise<PutBlob> {
    const { folder, now } = this.#options;
    const size = blobSize(source);
    await this.#reserve(size);
    const name = `${randomBytes(linkRandomBytes).toString("base64url")}.${extensionOf(type)}`;
    this.#own?.add(name);
    const path = join(folder, name);
    const expires = Math.ceil((now() + ttlMs) / 1000);
    try {
      await write(path + draftEnding, source, expires);
      await rename(path + draftEnding, path);
      this.#files.set(name, { size, deleteAt: expires * 1000 + graceMs });
    } catch (cause) {
      // A disk that became full may have stored part of the file.
      if (await removeIfExists(path + draftEnding)) this.#storedBytes -= size;
      else this.#files.set(name + draftEnding, { size, deleteAt: now() + retryMs });
      throw blobError(cause);
    } finally {
      this.#writing--;
    }
    return { name, expires };
  }

  async find(name: string): Promise<FoundBlob | undefined> {
    const extension = namePattern.exec(name)?.[1];
    if (extension === undefined) return undefined;
    const path = join(this.#options.folder, name);
    const found = await statIfExists(path);
    if (!found || found.mtimeMs <= this.#options.now()) return undefined;
    const { size } = found;
    // A slice, because Bun handles range requests itself for a whole file.
    return { type: typeOfExtension(extension), size, content: Bun.file(path).slice(0, size) };
  }

  /** Deletes expired files. The first sweep also counts the files of earlier processes. */
  async sweep(): Promise<void> {
    this.#counting ??= this.#countEarlier(this.#own ?? new Set());
    await this.#counting;
    await this.#deleteExpired();
  }

  async #countEarlier(own: ReadonlySet<string>): Promise<void> {
    const { folder } = this.#options;
    for (const name of await readdir(folder).catch(() => [])) {
      const isDraft = name.endsWith(draftEnding);
      if (own.has(isDraft ? name.slice(0, -draftEnding.length) : name)) continue;
      const found = await statIfExists(join(folder, name));
      if (!found) continue;
      const { size, mtimeMs } = found;
      this.#files.set(name, { size, deleteAt: mtimeMs + (isDraft ? draftMs : graceMs) });
      this.#storedBytes += size;
    }
    this.#own = undefined;
  }

  async #deleteExpired(): Promise<void> {
    const { folder, now } = this.#options;
    for (const [name, { size, deleteAt }] of this.#files) {
      if (deleteAt > now()) continue;
      // Before the file is deleted: two calls at the same time must not both count it.
      this.#files.delete(name);
      if (await removeIfExists(join(folder, name))) this.#storedBytes -= size;
      // The file is still on the disk, so its size still counts.
      else this.#files.set(name, { size, deleteAt: now() + retryMs });
    }
  }

  async #reserve(bytes: number): Promise<void> {
    const { maxBytes, disk, now } = this.#options;
    const isFull = (): boolean =>
      this.#storedBytes + bytes > maxBytes || this.#files.size + this.#writing >= maxFiles;
    if (isFull()) await this.#deleteExpired();
    if (isFull()) {
      const next = this.#files.values().reduce((at, file) => Math.min(at, file.deleteAt), Infinity);
      throw noSpace(next - now());
    }
    if (!disk.hasSpace(bytes, "response")) throw noSpace(longestWaitMs);
    disk.recordWrite(bytes);
    this.#storedBytes += bytes;
    // In the same step as the check: concurrent requests must not all pass the check for the last file.
    this.#writing++;
  }
}

/** Space is freed when the next image expires; when the disk will have space is unknown. */
function noSpace(waitMs: number): GatewayError {
  return new GatewayError(
    "storage_unavailable",
    "There is no disk space left for image links. Retry later, or use response_format b64_json.",
    { retryAfterMs: Math.min(Math.max(waitMs, 1000), longestWaitMs) },
  );
}

/** The modification time of a file is its expiry: no separate index is needed, and it survives a restart. */
async function write(path: string, source: BlobSource, expires: number): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    // Synchronously, into the page cache: otherwise a hundred concurrent writes would each hold their chunks in memory.
    for await (const chunk of blobChunks(source)) writeAll(file.fd, viewOf(chunk));
    await file.utimes(expires, expires);
  } finally {
    await file.close();
  }
}
