/** Pictures kept on disk for callers who asked for a link: unguessable names, an expiry, bounded room. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../std/gateway-error.ts";
import { extensionOf } from "../std/sniff.ts";

export interface PictureOptions {
  readonly folder: string;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly now: () => number;
}

const namePattern = /^[A-Za-z0-9_-]{32}\.(png|jpg|webp|gif|svg|avif|bin)$/;

export class Pictures {
  readonly #options: PictureOptions;
  #held = 0;
  /** Ever kept, so that a sweep can tell what came while it was counting. */
  #kept = 0;

  constructor(options: PictureOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true });
  }

  /** Returns the name under which `find` gives it back. */
  async keep(bytes: Uint8Array, type: string): Promise<string> {
    const { folder, maxBytes } = this.#options;
    if (this.#held + bytes.length > maxBytes) await this.sweep();
    if (this.#held + bytes.length > maxBytes) {
      throw new GatewayError(
        "storage_unavailable",
        "There is no room left for picture links. Ask for response_format b64_json.",
        { retryAfterMs: 60_000 },
      );
    }
    const name = `${randomBytes(24).toString("base64url")}.${extensionOf(type)}`;
    this.#held += bytes.length;
    this.#kept += bytes.length;
    try {
      await Bun.write(join(folder, name), bytes);
    } catch (cause) {
      this.#held -= bytes.length;
      // A disk that filled up meanwhile may have taken a part of it.
      await remove(join(folder, name));
      throw new GatewayError(
        "storage_unavailable",
        "The picture could not be written to disk. Ask for response_format b64_json.",
        { cause },
      );
    }
    return name;
  }

  /** Undefined when there is no such picture, or no longer. */
  async find(name: string): Promise<{ path: string; leftMs: number } | undefined> {
    if (!namePattern.test(name)) return undefined;
    const path = join(this.#options.folder, name);
    const found = await stat(path).catch(() => undefined);
    if (!found) return undefined;
    const leftMs = found.mtimeMs + this.#options.ttlMs - this.#options.now();
    return leftMs > 0 ? { path, leftMs } : undefined;
  }

  /** Takes out what has expired and counts what is left. */
  async sweep(): Promise<void> {
    const { folder, ttlMs, now } = this.#options;
    const before = this.#kept;
    let held = 0;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found) continue;
      if (found.mtimeMs + ttlMs <= now()) await remove(path);
      else held += found.size;
    }
    // Some of what came meanwhile may be counted twice, which the next sweep puts right.
    this.#held = held + (this.#kept - before);
  }
}

/** What cannot be taken away now is tried again with the next sweep. */
const remove = (path: string): Promise<void> => unlink(path).catch(() => undefined);
