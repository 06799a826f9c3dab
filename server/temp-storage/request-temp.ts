/**
 * Request temp storage: spill buffers and temp files of one request, released when the request ends. A spill buffer is
 * in memory while the memory budget of all requests allows it, and otherwise spilled to disk: a single image need not
 * touch the disk; a hundred concurrent images must.
 */

import type { BorrowedBytes, BorrowedChunks } from "../lib/borrowed-bytes.ts";
import { releaseBuffer } from "../lib/byte-memory.ts";
import { releaseAll } from "../lib/tasks.ts";
import type { TempAccount, TempStorage } from "./temp-storage.ts";
import { UnlinkedTempFile } from "./unlinked-temp-file.ts";

/** A range of a file that another process on this machine can read. */
export interface FileRange {
  readonly path: string;
  readonly from: number;
  readonly length: number;
}

/** Spilled bytes: a range of a request's spill buffer or temp file. */
export interface SpilledBytes {
  /** Stored bytes, as encoded. */
  readonly length: number;
  /** How the content is stored: raw, or as the base64 that was received. */
  readonly encoding: "raw" | "base64";
  /** The first stored bytes, to detect the type. */
  readonly start: Uint8Array;
  /** A path under which another process on this machine can read all stored bytes. */
  readonly path?: string;
  /** Like `path`, for a file that also holds other bytes. */
  readonly range?: FileRange | undefined;
  /** Keeps the file open while another process uses `path` or `range`, until the returned function is called. */
  keepOpen?(): (() => void) | undefined;
  /** The stored bytes. */
  stream(): BorrowedChunks;
  /** All stored bytes. */
  bytes(): Promise<Uint8Array>;
  /** The last stored bytes, to detect truncation. */
  tail(bytes: number): Promise<Uint8Array>;
}

/** Most image responses take at most this much disk space. */
export const responseBytes = 8 * 1024 * 1024;

export interface RequestTemp {
  /** Throws GatewayError if there is no space for the response. Called before an upstream is paid for an image. */
  ensureSpace(): void;
  /** A new temp file of this request. */
  file(): Promise<UnlinkedTempFile>;
  /** A new spill buffer of this request: in memory while there is space, then on disk. */
  buffer(): SpillBuffer;
  /** Releases all buffers and files. Nothing in them can be read afterwards. */
  clear(): Promise<void>;
}

/**
 * A memory budget of all requests, in bytes and in number of spill buffers. Above either bound, new bytes go to disk.
 */
export class MemoryBudget {
  #freeBytes: number;
  readonly #maxBuffers: number;
  #buffers = 0;

  constructor(bytes: number, maxBuffers = 8) {
    this.#freeBytes = bytes;
    this.#maxBuffers = maxBuffers;
  }

  addBuffer(): void {
    this.#buffers++;
  }

  removeBuffer(): void {
    this.#buffers--;
  }

  tryTake(bytes: number): boolean {
    if (bytes > this.#freeBytes || this.#buffers > this.#maxBuffers) return false;
    this.#freeBytes -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.#freeBytes += bytes;
  }
}

export class SpillBuffer {
  readonly #budget: MemoryBudget;
  readonly #openFile: () => Promise<UnlinkedTempFile>;
  #chunks: Uint8Array[] = [];
  #file: UnlinkedTempFile | undefined;
  #size = 0;
  #isCleared = false;

  constructor(budget: MemoryBudget, openFile: () => Promise<UnlinkedTempFile>) {
    this.#budget = budget;
    this.#openFile = openFile;
    budget.addBuffer();
  }

  get size(): number {
    return this.#size;
  }

  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  /** A path under which another process can read the bytes. Undefined while they are in memory. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /**
   * Keeps the file open for another process that reads it, until the returned function is called. Undefined for the
   * bytes are in memory.
   */
  keepOpen(): (() => void) | undefined {
    return this.#file?.keepOpen();
  }

  /**
   * Takes ownership of the bytes, and of their buffer when it is cleared. Returns a promise only if a file must be
   * opened first.
   */
  append(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#isCleared) throw new Error("The request has ended: its spill buffer is closed.");
    if (this.#file) {
      this.#file.append(bytes);
      this.#size += bytes.length;
      return undefined;
    }
    if (this.#budget.tryTake(bytes.length)) {
      this.#chunks.push(bytes);
      this.#size += bytes.length;
      return undefined;
    }
    return this.#spill(bytes);
  }

  async *stream(from = 0, to = this.#size): AsyncGenerator<BorrowedBytes> {
    if (this.#file) yield* this.#file.stream(from, to);
    else yield* this.#range(from, to);
  }

  async read(from: number, length: number): Promise<Uint8Array> {
    if (this.#file) return this.#file.read(from, length);
    return Buffer.concat([...this.#range(from, from + length)]);
  }

  clear(): void {
    if (this.#isCleared) return;
    this.#isCleared = true;
    this.#budget.removeBuffer();
    if (!this.#file) this.#budget.release(this.#size);
    // Left to the garbage collector, each response of 2 MB would take new memory.
    for (const chunk of this.#chunks) releaseBuffer(chunk);
    this.#chunks = [];
    this.#size = 0;
  }

  *#range(from: number, to: number): Generator<Uint8Array> {
    let at = 0;
    for (const chunk of this.#chunks) {
      if (this.#isCleared) throw new Error("The request has ended: its spill buffer is closed.");
      const start = Math.max(0, from - at);
      const end = Math.min(chunk.length, to - at);
      if (end > start)
        yield start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end);
      at += chunk.length;
      if (at >= to) return;
    }
  }

  async #spill(bytes: Uint8Array): Promise<void> {
    const file = await this.#openFile();
    for (const chunk of this.#chunks) file.append(chunk);
    file.append(bytes);
    this.#budget.release(this.#size);
    this.#chunks = [];
    this.#file = file;
    this.#size = file.size;
  }
}

/**
 * Costs nothing until it is used. `budget`: the memory budget of all requests together. `account`: the temp storage
 * account that files are charged to.
 */
export function createRequestTemp(
  folder: string,
  budget: MemoryBudget = noMemory,
  account?: TempAccount,
): RequestTemp {
  const files: UnlinkedTempFile[] = [];
  const buffers: SpillBuffer[] = [];
  let isCleared = false;
  const file = async (): Promise<UnlinkedTempFile> => {
    const opened = await UnlinkedTempFile.create(folder, account);
    // An aborted request may still be reading an upstream response.
    if (isCleared) {
      await opened.close();
      throw new Error("The request has ended: its temp storage is closed.");
    }
    files.push(opened);
    return opened;
  };
  return {
    ensureSpace: () => account?.ensureSpace(responseBytes),
    file,
    buffer: () => {
      const buffer = new SpillBuffer(isCleared ? noMemory : budget, file);
      buffers.push(buffer);
      return buffer;
    },
    clear: async () => {
      isCleared = true;
      if (buffers.length === 0 && files.length === 0) return;
      await releaseAll([
        ...buffers.splice(0).map((buffer) => async () => buffer.clear()),
        ...files.splice(0).map((file) => () => file.close()),
      ]);
    },
  };
}

/** Creates the temp storage of requests, for their responses. All requests share the memory. */
export const requestTemps =
  (folder: string, memory: MemoryBudget, storage: TempStorage) =>
  (keyId: string): RequestTemp =>
    createRequestTemp(folder, memory, storage.account(keyId, "response"));

const noMemory = new MemoryBudget(0);

const noSpace = async (): Promise<never> => {
  throw new Error("This request has no temp storage.");
};

/** For requests that need no temp storage. */
export const noRequestTemp: RequestTemp = {
  ensureSpace: () => undefined,
  file: noSpace,
  buffer: () => new SpillBuffer(noMemory, noSpace),
  clear: async () => undefined,
};
