/**
 * Stored responses on disk: for retries with the same Idempotency-Key, and for clients that disconnected before their
 * image was generated. One body may have several names; expired responses are swept. API keys share the space.
 */
import { createHash, randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { viewOf } from "../../lib/borrowed-bytes.ts";
import type { DiskReserve } from "../../temp-storage/disk-reserve.ts";
import { responseBytes } from "../../temp-storage/request-temp.ts";
import { TempStorage } from "../../temp-storage/temp-storage.ts";
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

interface ResponseFileEntry extends ResponseMetadata {
  readonly body: string;
  readonly length: number;
  readonly at: number;
}

/** The account of files whose API key is not known, such as drafts. */
const unknownAccount = "";

export class ResponseFiles implements ResponseStore {
  readonly #options: ResponseFilesOptions;
  #space: TempStorage;
  /** The changes of each account since the sweep that is running began. Undefined if none is running. */
  #sinceSweep: Map<string, number> | undefined;

  constructor(options: ResponseFilesOptions) {
    this.#options = options;
    this.#space = this.#newSpace();
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  ensureSpace(owner: string): void {
    this.#space.ensureSpace(accountOf(owner), responseBytes);
  }

  /** Throws the disk's error; the writer throws GatewayError. */
  begin(owner: string): ResponseWriter {
    const { folder, now } = this.#options;
    const account = accountOf(owner);
    const body = `${account}.${randomUUID()}.body`;
    const file = openSync(join(folder, body), "wx", 0o600);
    let length = 0;
    let open = true;
    const close = (): void => {
      if (open) closeSync(file);
      open = false;
    };
    const discard = async (): Promise<void> => {
      close();
      this.#space.release(account, length);
      this.#note(account, -length);
      length = 0;
      await removeIfExists(join(folder, body));
    };
    return {
      append: (chunk) => {
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : viewOf(chunk);
        this.#space.take(account, bytes.length, "response");
        this.#note(account, bytes.length);
        length += bytes.length;
        writeAll(file, bytes);
      },
      commit: async (names, metadata) => {
        close();
        const entry: ResponseFileEntry = { ...metadata, body, length, at: now() };
        try {
          for (const name of names) await this.#write(name, entry, account);
        } catch (error) {
          await discard();
          throw error;
        }
      },
      discard,
    };
  }

  /** Undefined if not stored, or expired. */
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
    const counted = new Map<string, number>();
    const changes = new Map<string, number>();
    this.#sinceSweep = changes;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const found = await statIfExists(path);
      if (!found) continue;
      // The modification time is that of the last write, so a body that is being written stays.
      if (found.mtimeMs + ttlMs + graceMs <= now()) await removeIfExists(path);
      else addTo(counted, await accountOfFile(folder, name), found.size);
    }
    for (const [account, bytes] of changes) addTo(counted, account, bytes);
    this.#sinceSweep = undefined;
    this.#space = this.#newSpace();
    for (const [account, bytes] of counted) this.#space.charge(account, Math.max(0, bytes));
  }

  #newSpace(): TempStorage {
    const { maxBytes, disk, ttlMs } = this.#options;
    const subject = {
      name: "storage for responses",
      setting: "VEXEL_RESPONSES_MAX_BYTES",
      // All responses that are stored now have expired then.
      retryAfterMs: ttlMs,
    };
    return new TempStorage({ maxBytes, disk, subject });
  }

  #note(account: string, bytes: number): void {
    if (this.#sinceSweep) addTo(this.#sinceSweep, account, bytes);
  }

  /** Atomic (write and rename): a reader never sees a partial entry. */
  async #write(name: string, entry: ResponseFileEntry, account: string): Promise<void> {
    const { folder } = this.#options;
    const draft = join(folder, `${randomUUID()}.draft`);
    const text = JSON.stringify(entry);
    // Entries count toward the limit, too.
    this.#space.take(account, text.length, "response");
    this.#note(account, text.length);
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, join(folder, `${name}.json`));
  }
}

const addTo = (sums: Map<string, number>, account: string, bytes: number): unknown =>
  sums.set(account, (sums.get(account) ?? 0) + bytes);

/** The account of an API key, which is part of the names of its files. */
const accountOf = (owner: string): string =>
  createHash("sha256").update(owner).digest("hex").slice(0, 16);

/** An entry belongs to the account of its body. */
async function accountOfFile(folder: string, name: string): Promise<string> {
  const body = name.endsWith(".json") ? (await readEntry(join(folder, name)))?.body : name;
  return /^([0-9a-f]{16})\..*\.body$/.exec(body ?? "")?.[1] ?? unknownAccount;
}

async function readEntry(path: string): Promise<ResponseFileEntry | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ResponseFileEntry;
  } catch {
    // The entry is missing or damaged, which counts as missing.
    return undefined;
  }
}
