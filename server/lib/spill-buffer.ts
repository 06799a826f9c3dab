/**
 * Bytes of one call that are put aside: in memory while all calls together hold little, on disk beyond. A picture that
 * passes through need not touch the disk; a hundred of them at once must.
 */
import type { UnlinkedTempFile } from "./unlinked-temp-file.ts";

/** What all calls together may hold in memory, and how many of them; where there are more, all of them use the disk. */
export class MemoryBudget {
  #left: number;
  readonly #most: number;
  #holders = 0;

  constructor(bytes: number, holders = 8) {
    this.#left = bytes;
    this.#most = holders;
  }

  addBuffer(): void {
    this.#holders++;
  }

  removeBuffer(): void {
    this.#holders--;
  }

  tryTake(bytes: number): boolean {
    if (bytes > this.#left || this.#holders > this.#most) return false;
    this.#left -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.#left += bytes;
  }
}

export class SpillBuffer {
  readonly #allowance: MemoryBudget;
  readonly #openFile: () => Promise<UnlinkedTempFile>;
  #pieces: Uint8Array[] = [];
  #file: UnlinkedTempFile | undefined;
  #size = 0;
  #cleared = false;
  #isSeen = false;

  constructor(allowance: MemoryBudget, openFile: () => Promise<UnlinkedTempFile>) {
    this.#allowance = allowance;
    this.#openFile = openFile;
    allowance.addBuffer();
  }

  get size(): number {
    return this.#size;
  }

  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  /** Where another process can read it. Absent while it is in memory. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /** Of the file, for as long as another process reads it. Undefined while it is in memory. */
  keepOpen(): (() => void) | undefined {
    return this.#file?.keepOpen();
  }

  /** The bytes are no longer the giver's. A promise only where a file must be opened first. */
  append(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#cleared) throw new Error("The call is over: there is nothing to put aside for.");
    if (this.#file) {
      this.#file.append(bytes);
      this.#size += bytes.length;
      return undefined;
    }
    if (this.#allowance.tryTake(bytes.length)) {
      this.#pieces.push(bytes);
      this.#size += bytes.length;
      return undefined;
    }
    return this.#spill(bytes);
  }

  /** Somebody has seen pieces of it, which may be on their way at this moment: their memory is not taken back early. */
  get wasRead(): boolean {
    return this.#isSeen;
  }

  /** Each piece lives only until the next is asked for. */
  async *stream(from = 0, to = this.#size): AsyncGenerator<Uint8Array> {
    this.#isSeen = true;
    if (this.#file) yield* this.#file.stream(from, to);
    else yield* this.#within(from, to);
  }

  /** The same, where they lie in memory. */
  chunksInMemory(from: number, to: number): readonly Uint8Array[] | undefined {
    this.#isSeen = true;
    return this.#file ? undefined : [...this.#within(from, to)];
  }

  async read(from: number, length: number): Promise<Uint8Array> {
    if (this.#file) return this.#file.read(from, length);
    return Buffer.concat([...this.#within(from, from + length)]);
  }

  /** At once: garbage of this size would pile up faster than it is collected. */
  clear(): void {
    if (!this.#cleared) this.#allowance.removeBuffer();
    this.#cleared = true;
    if (!this.#file) this.#allowance.release(this.#size);
    for (const { buffer } of this.#pieces) freeBuffer(buffer);
    this.#pieces = [];
    this.#size = 0;
  }

  *#within(from: number, to: number): Generator<Uint8Array> {
    let at = 0;
    for (const piece of this.#pieces) {
      const start = Math.max(0, from - at);
      const end = Math.min(piece.length, to - at);
      if (end > start)
        yield start === 0 && end === piece.length ? piece : piece.subarray(start, end);
      at += piece.length;
      if (at >= to) return;
    }
  }

  async #spill(bytes: Uint8Array): Promise<void> {
    const file = await this.#openFile();
    for (const piece of this.#pieces) file.append(piece);
    file.append(bytes);
    this.#allowance.release(this.#size);
    // Whoever gave the last piece may not be done with the rest of its buffer.
    if (!this.#isSeen)
      for (const { buffer } of this.#pieces) if (buffer !== bytes.buffer) freeBuffer(buffer);
    this.#pieces = [];
    this.#file = file;
    this.#size = file.size;
  }
}

/** Small buffers are shared with others. */
const sharedBytes = 16 * 1024;

/** Its memory goes back now. Several pieces may be of one buffer; the second time there is nothing left to release. */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (buffer.byteLength >= sharedBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
