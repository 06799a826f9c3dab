/**
 * The persistent cache of embeddings on disk: cached vectors in a SQLite file of their own, so that they survive a
 * restart. It holds hashes and vectors, never texts; still, a vector reveals something of its text, and a guessed text
 * can be checked against the hashes. It is optional: failed writes are dropped, and a damaged file is not used.
 *
 * Writes are write-behind: they never wait and never fail, and a vector that was not written yet may be lost, which is
 * a cache miss. `add` and `touch` are synchronous because they only buffer.
 */

import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../lib/error-code.ts";
import { ignoreRejection, nextTurn } from "../../lib/tasks.ts";
import { removeIfExists } from "../files/expiring-files.ts";
import {
  EmbeddingCacheTable,
  type PersistedEmbedding,
  type ReadPosition,
  type RestoreEmbedding,
} from "./embedding-cache-table.ts";
import { StoreError } from "./open-database.ts";

export interface EmbeddingCacheFileOptions {
  readonly folder: string;
  /** The size limit of the file, not counting its write-ahead log. */
  readonly maxBytes: number;
  /** The format of cache keys. Vectors with keys of another format could never be found, and are dropped. */
  readonly keyFormat: number;
  /** The time to live of a vector since it was computed. If absent, until it is evicted. */
  readonly ttlMs?: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Called when the file cannot be used any more, and if a later clear fails. */
  readonly report: (reason: string) => void;
  readonly groupMs?: number;
  /** Rows per write on the thread that serves requests: a few milliseconds. */
  readonly groupRows?: number;
  /** The limit of vectors that wait to be written. Beyond it, new vectors are not persisted. */
  readonly maxQueuedBytes?: number;
}

/** How often the last use of vectors is written. */
const usedMs = 60_000;
/** The maximum number of uses per write. */
const maxUsed = 4096;

export class EmbeddingCacheFile {
  readonly #options: Required<EmbeddingCacheFileOptions>;
  readonly #path: string;
  /** The name of a file that was cleared, until it is removed. */
  readonly #clearedPath: string;
  #table: EmbeddingCacheTable | undefined;
  #ticking: ReturnType<typeof setInterval> | undefined;
  readonly #queue = new Map<string, PersistedEmbedding>();
  #queuedBytes = 0;
  readonly #used = new Set<string>();
  #usedNotedAt: number;
  #isClosed = false;

  constructor(options: EmbeddingCacheFileOptions) {
    this.#options = {
      groupMs: 250,
      groupRows: 64,
      maxQueuedBytes: 16 * 1024 * 1024,
      ttlMs: Infinity,
      ...options,
    };
    this.#path = join(options.folder, "vectors.db");
    this.#clearedPath = `${this.#path}.cleared`;
    this.#usedNotedAt = options.now();
    try {
      rmSync(this.#clearedPath, { force: true });
      this.#table = this.#open();
      // The limit was lowered: the cache starts empty.
      if (this.#table.bytes() > options.maxBytes) ignoreRejection(this.clear());
      this.#ticking = setInterval(
        () => this.#attempt((table) => this.#tick(table)),
        this.#options.groupMs,
      );
    } catch (error) {
      this.#disable(error);
    }
  }

  /**
   * Copies the vector, because it may be evicted from memory before it is written. Replaces an earlier vector of the
   * key.
   */
  add(key: string, { vector, tokens }: PersistedEmbedding): void {
    const { byteLength } = vector;
    if (!this.#table || this.#queuedBytes + byteLength > this.#options.maxQueuedBytes) return;
    this.#dequeue(key);
    this.#queue.set(key, { vector: vector.slice(), tokens });
    this.#queuedBytes += byteLength;
  }

  /** The vector was used, so it is evicted later. */
  touch(key: string): void {
    if (this.#table && this.#used.size < maxUsed) this.#used.add(key);
  }

  /**
   * Deletes everything, including vectors that wait to be written. When it returns, no vector from before can be loaded
   * again, also after a crash; when the promise resolves, the disk space is free.
   *
   * Replaces the file by an empty one: to delete its rows would hold the thread that serves requests for half a
   * millisecond per megabyte. A file that is not used any more after an error is removed: the next start would load it.
   */
  async clear(): Promise<void> {
    this.#dropPending();
    if (this.#isClosed) return;
    try {
      const isUsed = this.#table !== undefined;
      this.#table?.close();
      renameIfExists(this.#path, this.#clearedPath);
      // Another connection or an error may have kept the log, whose rows would be part of the new file.
      for (const ending of ["-wal", "-shm"]) rmSync(this.#path + ending, { force: true });
      if (isUsed) this.#table = this.#open();
    } catch (error) {
      this.#table = undefined;
      this.#disable(error);
    }
    await removeIfExists(this.#clearedPath);
  }

  /**
   * Loads vectors, most recently used first, until the cache is full. In small steps, so that requests are served
   * meanwhile.
   */
  async load(restore: RestoreEmbedding): Promise<void> {
    while (this.#attempt((table) => this.#expire(table))) {
      await nextTurn();
    }
    let last: ReadPosition | undefined = {
      usedAt: Number.MAX_SAFE_INTEGER,
      id: Number.MAX_SAFE_INTEGER,
    };
    while (last) {
      await nextTurn();
      const from: ReadPosition = last;
      last = this.#attempt((table) => table.read(from, this.#options.groupRows, restore));
    }
  }

  /** Writes all pending vectors. */
  async close(): Promise<void> {
    this.#attempt((table) => {
      while (this.#queue.size > 0) this.#write(table);
      this.#noteUsed(table);
    });
    this.#shut();
    this.#isClosed = true;
  }

  #open(): EmbeddingCacheTable {
    const { keyFormat, now } = this.#options;
    return new EmbeddingCacheTable(this.#path, keyFormat, now());
  }

  #tick(table: EmbeddingCacheTable): void {
    if (this.#queue.size > 0) this.#write(table);
    const now = this.#options.now();
    if (now - this.#usedNotedAt < usedMs) return;
    this.#usedNotedAt = now;
    this.#noteUsed(table);
    this.#expire(table);
  }

  /** True: there may be more. */
  #expire(table: EmbeddingCacheTable): boolean {
    const { ttlMs, now } = this.#options;
    return ttlMs !== Infinity && table.expire(now() - ttlMs);
  }

  #write(table: EmbeddingCacheTable): void {
    const { groupRows, maxBytes, now } = this.#options;
    const group = this.#queue.entries().take(groupRows).toArray();
    table.transaction(() => {
      for (const [key, embedding] of group) table.insert(key, embedding, now());
      while (table.bytes() > maxBytes && table.evictOldest());
    });
    for (const [key] of group) this.#dequeue(key);
  }

  #dequeue(key: string): void {
    this.#queuedBytes -= this.#queue.get(key)?.vector.byteLength ?? 0;
    this.#queue.delete(key);
  }

  #noteUsed(table: EmbeddingCacheTable): void {
    const now = this.#options.now();
    table.transaction(() => {
      for (const key of this.#used) table.touch(key, now);
    });
    this.#used.clear();
  }

  #attempt<T>(work: (table: EmbeddingCacheTable) => T): T | undefined {
    try {
      return this.#table && work(this.#table);
    } catch (error) {
      // Another process holds the lock: the write is retried later.
      if (!isBusy(error)) this.#disable(error);
      return undefined;
    }
  }

  /** After an error of the file, embeddings are cached in memory only. */
  #disable(error: unknown): void {
    this.#shut();
    const reason = errorMessage(error);
    this.#options.report(error instanceof StoreError ? reason : `${this.#path}: ${reason}`);
  }

  #shut(): void {
    clearInterval(this.#ticking);
    this.#table?.close();
    this.#table = undefined;
    this.#dropPending();
  }

  #dropPending(): void {
    this.#queue.clear();
    this.#queuedBytes = 0;
    this.#used.clear();
  }
}

function renameIfExists(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

const isBusy = (error: unknown): boolean => errorCode(error) === "SQLITE_BUSY";
