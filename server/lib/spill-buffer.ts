/**
 * Spill buffer: bytes of one request, in memory while the memory budget of all requests allows it, and otherwise
 * spilled to disk. A single image need not touch the disk; a hundred concurrent images must.
 */
import type { UnlinkedTempFile } from "./unlinked-temp-file.ts";

/**
 * The memory budget of all spill buffers, in bytes and in number of buffers. Above either bound, new bytes go to disk.
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
  #wasRead = false;

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
   * Keeps the file open for another process that reads it, until the returned function is called. Undefined: the bytes
   * are in memory.
   */
  keepOpen(): (() => void) | undefined {
    return this.#file?.keepOpen();
  }

  /** Takes ownership of the bytes. Returns a promise only if a file must be opened first. */
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

  /** Chunks were read and may still be in use, so their memory is not freed early. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** Each chunk is valid only until the next one is requested. */
  async *stream(from = 0, to = this.#size): AsyncGenerator<Uint8Array> {
    this.#wasRead = true;
    if (this.#file) yield* this.#file.stream(from, to);
    else yield* this.#range(from, to);
  }

  /** The chunks, if they are in memory. */
  chunksInMemory(from: number, to: number): readonly Uint8Array[] | undefined {
    this.#wasRead = true;
    return this.#file ? undefined : [...this.#range(from, to)];
  }

  async read(from: number, length: number): Promise<Uint8Array> {
    if (this.#file) return this.#file.read(from, length);
    return Buffer.concat([...this.#range(from, from + length)]);
  }

  /** Frees the memory immediately: garbage of this size would accumulate faster than it is collected. */
  clear(): void {
    if (!this.#isCleared) this.#budget.removeBuffer();
    this.#isCleared = true;
    if (!this.#file) this.#budget.release(this.#size);
    for (const { buffer } of this.#chunks) freeBuffer(buffer);
    this.#chunks = [];
    this.#size = 0;
  }

  *#range(from: number, to: number): Generator<Uint8Array> {
    let at = 0;
    for (const chunk of this.#chunks) {
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
    // The code that appended the last chunk may still use the rest of its buffer.
    if (!this.#wasRead)
      for (const { buffer } of this.#chunks) if (buffer !== bytes.buffer) freeBuffer(buffer);
    this.#chunks = [];
    this.#file = file;
    this.#size = file.size;
  }
}

/** Smaller buffers may be parts of a pool that other buffers share. */
const sharedBytes = 16 * 1024;

/** Frees the memory of a buffer now. Several chunks may share a buffer: freeing it again has no effect. */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (buffer.byteLength >= sharedBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
