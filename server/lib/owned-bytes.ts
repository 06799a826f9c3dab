/**
 * The ownership of bytes in memory. A `Uint8Array` is owned: it stays valid, and may be kept. `BorrowedBytes` are lent:
 * the compiler refuses them where owned bytes are required. `OwnedChunks` frees large bytes when their owner needs them
 * no longer. This file alone frees memory: left to the garbage collector, large bytes accumulate faster than they are
 * collected.
 */

/**
 * Bytes that are lent: a chunk is valid only until the next chunk of its stream is requested, and an argument only until
 * the call ends. Then their buffer is overwritten or freed. A supertype of `Uint8Array`: owned bytes can be lent without
 * a cast, and at run time they are the same object. To keep borrowed bytes, copy them: `copyOf`, `joinCopies`,
 * `Buffer.from` and `new Uint8Array` copy.
 */
export interface BorrowedBytes {
  readonly length: number;
  readonly [at: number]: number;
  subarray(from?: number, to?: number): BorrowedBytes;
  indexOf(byte: number, from?: number): number;
  /** Excludes arrays of other numbers. */
  readonly [Symbol.toStringTag]: "Uint8Array";
}

export type BorrowedChunks = AsyncIterable<BorrowedBytes>;

export const copyOf = (bytes: BorrowedBytes): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

export const joinCopies = (parts: readonly BorrowedBytes[]): Buffer<ArrayBuffer> =>
  Buffer.concat(parts as readonly Uint8Array[]);

/**
 * The same bytes for functions of the runtime, which require a `Uint8Array`. They must not be kept: here the compiler
 * cannot check it.
 */
export const viewOf = (bytes: BorrowedBytes): Uint8Array => bytes as Uint8Array;

/**
 * Chunks with one owner, which frees their memory once. After that, and after `take`, every use throws. Views of the
 * chunks are empty once the memory is freed.
 */
export class OwnedChunks<Chunk extends Uint8Array = Buffer<ArrayBuffer>> implements Disposable {
  #list: Chunk[] | undefined;
  readonly #isExclusive: boolean;

  /**
   * `isExclusive`: no other bytes in the buffers of the chunks are in use, so the whole buffers are freed. Otherwise only
   * a buffer that is one whole chunk is freed.
   */
  constructor(chunks: readonly Chunk[] = [], isExclusive = true) {
    this.#list = [...chunks];
    this.#isExclusive = isExclusive;
  }

  static allocate(bytes: number): OwnedChunks {
    return new OwnedChunks([Buffer.allocUnsafeSlow(bytes)]);
  }

  get list(): readonly Chunk[] {
    return this.#held;
  }

  /** Takes the ownership of the chunk. */
  add(chunk: Chunk): void {
    this.#held.push(chunk);
  }

  /** Moves the ownership of all chunks to the caller. */
  take(): Chunk[] {
    const chunks = this.#held;
    this.#list = undefined;
    return chunks;
  }

  /** Frees the memory now. `inUse`: a chunk whose buffer another owner frees. */
  release(inUse?: Uint8Array): void {
    for (const chunk of this.take()) if (chunk.buffer !== inUse?.buffer) this.#free(chunk);
  }

  [Symbol.dispose](): void {
    if (this.#list) this.release();
  }

  /** Lends the chunks in order. Frees each when the next one is requested, and all of them at the end. */
  async *drain(): AsyncGenerator<BorrowedBytes> {
    const chunks = this.list;
    try {
      for (const [at, chunk] of chunks.entries()) {
        yield chunk;
        // Consecutive chunks may be in one buffer.
        if (chunks[at + 1]?.buffer !== chunk.buffer) this.#free(chunk);
      }
    } finally {
      this.release();
    }
  }

  get #held(): Chunk[] {
    if (!this.#list) throw new Error("The bytes have been released, or moved to another owner.");
    return this.#list;
  }

  #free(chunk: Uint8Array): void {
    if (this.#isExclusive || isWhole(chunk)) free(chunk.buffer);
  }
}

/**
 * Lends chunks as they arrive. Frees each when the next one is requested: left to the garbage collector, eight large
 * uploads would hold 150 MB. Consecutive chunks may be in one buffer, which is freed after the last of them: no other
 * bytes of it are in use.
 */
export async function* lendEach(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BorrowedBytes> {
  let shared: ArrayBufferLike | undefined;
  for await (const chunk of chunks) {
    const { buffer } = chunk;
    if (shared && shared !== buffer) free(shared);
    shared = isWhole(chunk) ? undefined : buffer;
    yield chunk;
    if (!shared) free(buffer);
  }
  if (shared) free(shared);
}

const isWhole = ({ buffer, byteLength }: Uint8Array): boolean => buffer.byteLength === byteLength;

/** Smaller buffers may be parts of a pool that other buffers share. */
const pooledBytes = 16 * 1024;

/** Several chunks may be in one buffer: freeing it again has no effect. */
function free(buffer: ArrayBufferLike): void {
  if (buffer.byteLength >= pooledBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
