/**
 * Known vectors in a SQLite file of its own, so that they outlive the process. It holds hashes and vectors, never texts;
 * even so, a vector tells something of its text, and whoever guesses a text can see whether it was asked for.
 * Nothing depends on it: what cannot be written is not, and a file that is broken is done without.
 */

import { join } from "node:path";
import { codeOf } from "../lib/error-code.ts";
import { type Place, type Recall, VectorTable } from "./embedding-cache-table.ts";
import { StoreError } from "./open-database.ts";

export interface VectorFileOptions {
  readonly folder: string;
  /** Of the file, not counting the journal beside it. */
  readonly maxBytes: number;
  /** How keys are made: vectors under other keys would never be found, and are dropped. */
  readonly keyFormat: number;
  /** How long a vector is kept, from when it was made. Absent: as long as there is room. */
  readonly ttlMs?: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told once, when the file is given up. */
  readonly report: (reason: string) => void;
  readonly groupMs?: number;
  /** Written at once, on the thread that serves: a few milliseconds' worth. */
  readonly groupRows?: number;
  /** What may wait to be written. More than that is not persisted. */
  readonly maxQueuedBytes?: number;
  /** How often it is noted which ones were used. */
  readonly usedMs?: number;
}

interface Known {
  readonly vector: Float32Array;
  readonly tokens: number | undefined;
}

const fileFormat = 1;
/** Uses that are noted each time, at most. */
const maxUsed = 4096;
/** How often room is made at a time: it happens on the thread that serves. */
const maxTrims = 16;

export class VectorFile {
  readonly #options: Required<VectorFileOptions>;
  readonly #path: string;
  #table: VectorTable | undefined;
  #ticking: ReturnType<typeof setInterval> | undefined;
  #queue: { readonly key: string; readonly known: Known }[] = [];
  #queuedBytes = 0;
  readonly #used = new Set<string>();
  #usedNotedAt: number;

  constructor(options: VectorFileOptions) {
    this.#options = {
      groupMs: 250,
      groupRows: 64,
      maxQueuedBytes: 16 * 1024 * 1024,
      usedMs: 60_000,
      ttlMs: Infinity,
      ...options,
    };
    this.#path = join(options.folder, "vectors.db");
    this.#usedNotedAt = options.now();
    try {
      this.#table = new VectorTable(this.#path, fileFormat * 1000 + options.keyFormat);
      this.#ticking = setInterval(
        () => this.#attempt((table) => this.#tick(table)),
        this.#options.groupMs,
      );
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Makes a copy: until it is written, the vector may have been written over. */
  add(key: string, { vector, tokens }: Known): void {
    const { byteLength } = vector;
    if (!this.#table || this.#queuedBytes + byteLength > this.#options.maxQueuedBytes) return;
    this.#queue.push({ key, known: { vector: vector.slice(), tokens } });
    this.#queuedBytes += byteLength;
  }

  used(key: string): void {
    if (this.#table && this.#used.size < maxUsed) this.#used.add(key);
  }

  /** Everything, and what waits to be written as well. */
  forget(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#used.clear();
    this.#attempt((table) => table.empty());
  }

  /** The most recently used first, until there is no more room. In bites, so that calls are served meanwhile. */
  async load(recall: Recall): Promise<void> {
    while (this.#attempt((table) => this.#expire(table))) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    let last: Place | undefined = { usedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };
    while (last) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const from: Place = last;
      last = this.#attempt((table) => table.read(from, this.#options.groupRows, recall));
    }
  }

  /** Writes all that waits. */
  close(): void {
    this.#attempt((table) => {
      while (this.#queue.length > 0) this.#write(table);
      this.#noteUsed(table);
    });
    this.#shut();
  }

  #tick(table: VectorTable): void {
    if (this.#queue.length > 0 || table.bytes() > this.#options.maxBytes) this.#write(table);
    const now = this.#options.now();
    if (now - this.#usedNotedAt < this.#options.usedMs) return;
    this.#usedNotedAt = now;
    this.#noteUsed(table);
    this.#expire(table);
  }

  /** True: there may be more. */
  #expire(table: VectorTable): boolean {
    const { ttlMs, now } = this.#options;
    return ttlMs !== Infinity && table.expire(now() - ttlMs);
  }

  #write(table: VectorTable): void {
    const { groupRows, maxBytes, now } = this.#options;
    const group = this.#queue.slice(0, groupRows);
    table.together(() => {
      for (const { key, known } of group) table.insert(key, known, now());
      for (let i = 0; i < maxTrims && table.bytes() > maxBytes; i++) table.trim();
    });
    table.shrink(maxBytes);
    this.#queue.splice(0, group.length);
    for (const { known } of group) this.#queuedBytes -= known.vector.byteLength;
  }

  #noteUsed(table: VectorTable): void {
    const now = this.#options.now();
    table.together(() => {
      for (const key of this.#used) table.touch(key, now);
    });
    this.#used.clear();
  }

  #attempt<T>(work: (table: VectorTable) => T): T | undefined {
    try {
      return this.#table && work(this.#table);
    } catch (error) {
      // Another process has it: what waits may wait.
      if (!isBusy(error)) this.#giveUp(error);
      return undefined;
    }
  }

  #giveUp(error: unknown): void {
    this.#shut();
    const words = error instanceof Error ? error.message : String(error);
    this.#options.report(error instanceof StoreError ? words : `${this.#path}: ${words}`);
  }

  #shut(): void {
    clearInterval(this.#ticking);
    this.#table?.close();
    this.#table = undefined;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#used.clear();
  }
}

const isBusy = (error: unknown): boolean => codeOf(error) === "SQLITE_BUSY";
