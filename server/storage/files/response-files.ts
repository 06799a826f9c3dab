/**
 * Stored responses on disk: for retries with the same Idempotency-Key, and for clients that disconnected before their
 * image was generated. One body may have several names; expired responses are swept.
 */
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { viewOf } from "../../lib/borrowed-bytes.ts";
import type { DiskReserve } from "../../temp-storage/disk-reserve.ts";
import type {
  ResponseMetadata,
  ResponseStore,
  ResponseWriter,
  StoredResponse,
} from "../ports/response-store.ts";
import { removeIfExists, statIfExists, writeAll } from "./expiring-files.ts";

export interface ResponseFilesOptions {
  readonly folder: string;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A file is deleted a little after it expires, as a response may still be sending it. */
const graceMs = 60_000;

/** The message is the name of the setting that limits the space. */
export class StoreFullError extends Error {
  override readonly name = "StoreFullError";
}

interface ResponseFileEntry extends ResponseMetadata {
  readonly body: string;
  readonly length: number;
  readonly at: number;
}

export class ResponseFiles implements ResponseStore {
  readonly #options: ResponseFilesOptions;
  #storedBytes = 0;

  constructor(options: ResponseFilesOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  /** Throws the disk's error; the writer throws StoreFullError. */
  begin(): ResponseWriter {
    const { folder, maxBytes, disk, now } = this.#options;
    const body = `${randomUUID()}.body`;
    const file = openSync(join(folder, body), "wx", 0o600);
    let length = 0;
    let open = true;
    const close = (): void => {
      if (open) closeSync(file);
      open = false;
    };
    const discard = async (): Promise<void> => {
      close();
      this.#storedBytes -= length;
      length = 0;
      await removeIfExists(join(folder, body));
    };
    return {
      append: (chunk) => {
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : viewOf(chunk);
        if (this.#storedBytes + bytes.length > maxBytes)
          throw new StoreFullError("VEXEL_RESPONSES_MAX_BYTES");
        if (!disk.hasSpace(bytes.length, "response"))
          throw new StoreFullError("VEXEL_DISK_RESERVE_BYTES");
        disk.recordWrite(bytes.length);
        writeAll(file, bytes);
        length += bytes.length;
        this.#storedBytes += bytes.length;
      },
      commit: async (names, metadata) => {
        close();
        const entry: ResponseFileEntry = { ...metadata, body, length, at: now() };
        try {
          for (const name of names) await this.#write(name, entry);
        } catch (error) {
          await discard();
          throw error;
        }
      },
      discard,
    };
  }

  /** Undefined: not stored, or expired. */
  async find(name: string): Promise<StoredResponse | undefined> {
    const { folder, ttlMs, now } = this.#options;
    const entry = await readEntry(join(folder, `${name}.json`));
    if (!entry || entry.at + ttlMs <= now()) return undefined;
    const path = join(folder, entry.body);
    const found = await statIfExists(path);
    if (found?.size !== entry.length) return undefined;
    return { ...entry, open: () => Bun.file(path).stream() };
  }

  /** Deletes expired files and counts the rest. */
  async sweep(): Promise<void> {
    const { folder, ttlMs, now } = this.#options;
    const before = this.#storedBytes;
    let counted = 0;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const found = await statIfExists(path);
      if (!found) continue;
      // The modification time is that of the last write, so a body that is being written stays.
      if (found.mtimeMs + ttlMs + graceMs <= now()) await removeIfExists(path);
      else counted += found.size;
    }
    this.#storedBytes = Math.max(0, counted + (this.#storedBytes - before));
  }

  /** Atomic (write and rename): a reader never sees a partial entry. */
  async #write(name: string, entry: ResponseFileEntry): Promise<void> {
    const { folder, maxBytes } = this.#options;
    const draft = join(folder, `${randomUUID()}.draft`);
    const text = JSON.stringify(entry);
    // Entries count toward the limit, too.
    if (this.#storedBytes + text.length > maxBytes)
      throw new StoreFullError("VEXEL_RESPONSES_MAX_BYTES");
    this.#storedBytes += text.length;
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, join(folder, `${name}.json`));
  }
}

async function readEntry(path: string): Promise<ResponseFileEntry | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ResponseFileEntry;
  } catch {
    // The entry is missing or damaged, which counts as missing.
    return undefined;
  }
}
