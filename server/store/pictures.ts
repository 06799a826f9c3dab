/** Pictures kept on disk for callers who asked for a link: unguessable names, an expiry, bounded room. */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeSync } from "node:fs";
import { type FileHandle, open, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { fromBase64, NotBase64 } from "../std/from-base64.ts";
import { GatewayError } from "../std/gateway-error.ts";
import { extensionOf, typeOfExtension } from "../std/sniff.ts";
import type { BlobAbout, BlobSource, BlobStore, FoundBlob, PutBlob } from "./blob-store.ts";
import { look, remove } from "./files.ts";

export interface PictureOptions {
  readonly folder: string;
  readonly maxBytes: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const namePattern = /^[A-Za-z0-9_-]{32}\.(png|jpg|webp|gif|svg|avif|bin)$/;
/** Of one that is still being written. */
const draftEnding = ".draft";
/** A draft that nobody has written to for so long belongs to a process that is no more. */
const draftMs = 3_600_000;
/** A picture stays a little longer than it can be found, as it may be on its way out to someone. */
const graceMs = 60_000;

export class Pictures implements BlobStore {
  readonly #options: PictureOptions;
  #held = 0;
  /** Ever kept, so that a sweep can tell what came while it was counting. */
  #kept = 0;

  constructor(options: PictureOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  async put(source: BlobSource, { type, ttlMs }: BlobAbout): Promise<PutBlob> {
    const { folder, now } = this.#options;
    const size = sizeOf(source);
    await this.#reserve(size);
    const name = `${randomBytes(24).toString("base64url")}.${extensionOf(type)}`;
    const path = join(folder, name);
    const expires = Math.ceil((now() + ttlMs) / 1000);
    try {
      await write(path + draftEnding, source, expires);
      await rename(path + draftEnding, path);
    } catch (cause) {
      this.#held -= size;
      // A disk that filled up meanwhile may have taken a part of it.
      await remove(path + draftEnding);
      throw unkept(cause);
    }
    return { name, expires };
  }

  async find(name: string): Promise<FoundBlob | undefined> {
    const extension = namePattern.exec(name)?.[1];
    if (extension === undefined) return undefined;
    const path = join(this.#options.folder, name);
    const found = await look(path);
    if (!found || found.mtimeMs <= this.#options.now()) return undefined;
    const { size } = found;
    // A whole file would be answered in parts by Bun itself, whatever we say.
    return { type: typeOfExtension(extension), size, content: Bun.file(path).slice(0, size) };
  }

  /** Takes out what has expired and counts what is left. */
  async sweep(): Promise<void> {
    const { folder, now } = this.#options;
    const before = this.#kept;
    let held = 0;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const found = await look(path);
      if (!found) continue;
      const lastsMs = name.endsWith(draftEnding) ? draftMs : graceMs;
      if (found.mtimeMs + lastsMs <= now()) await remove(path);
      else held += found.size;
    }
    // Some of what came meanwhile may be counted twice, which the next sweep puts right.
    this.#held = held + (this.#kept - before);
  }

  async #reserve(bytes: number): Promise<void> {
    const { maxBytes } = this.#options;
    if (this.#held + bytes > maxBytes) await this.sweep();
    if (this.#held + bytes > maxBytes) {
      throw new GatewayError(
        "storage_unavailable",
        "There is no room left for picture links. Ask for response_format b64_json.",
        { retryAfterMs: 60_000 },
      );
    }
    this.#held += bytes;
    this.#kept += bytes;
  }
}

const sizeOf = (source: BlobSource): number =>
  source instanceof Uint8Array || source.encoding === "raw"
    ? source.length
    : Math.ceil((source.length * 3) / 4);

/** The time of a file is when it expires: it needs no list beside it, and survives the process. */
async function write(path: string, source: BlobSource, expires: number): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    if (source instanceof Uint8Array) append(file, source);
    else {
      const { encoding } = source;
      const pieces = encoding === "base64" ? fromBase64(source.stream()) : source.stream();
      for await (const piece of pieces) append(file, piece);
    }
    await file.utimes(expires, expires);
  } finally {
    await file.close();
  }
}

/** At once, into the system's cache: of a hundred that wait for the disk, each would hold its pieces meanwhile. */
function append({ fd }: FileHandle, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done);
  }
}

const unkept = (cause: unknown): GatewayError =>
  cause instanceof NotBase64
    ? new GatewayError(
        "upstream_invalid",
        "The upstream's answer is not usable: its picture is not base64.",
        { cause },
      )
    : new GatewayError(
        "storage_unavailable",
        "The picture could not be written to disk. Ask for response_format b64_json.",
        { cause },
      );
