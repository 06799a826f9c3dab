/**
 * Memory of large bytes that is released before the garbage collector runs: left to it, large buffers accumulate
 * faster than they are collected. Only bytes that no other code refers to are released: chunks of request bodies and of
 * responses that were copied or written to disk, and JSON that was sent.
 */
import type { BorrowedBytes } from "./borrowed-bytes.ts";

/** Smaller buffers may be parts of a pool that other buffers share. */
const pooledBytes = 16 * 1024;

/** Releases the whole buffer that the bytes are a part of: all views of it are empty then. A second call has no effect. */
export function releaseBuffer({ buffer }: Pick<Uint8Array, "buffer">): void {
  if (buffer.byteLength >= pooledBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Lends chunks as they arrive. Releases each when the next one is requested: left to the garbage collector, eight large
 * uploads would hold 150 MB. Consecutive chunks may be in one buffer, which is released after the last of them: no other
 * bytes of it are in use.
 */
export async function* lendEach(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<BorrowedBytes> {
  let last: Uint8Array | undefined;
  for await (const chunk of chunks) {
    if (last && last.buffer !== chunk.buffer) releaseBuffer(last);
    last = chunk;
    yield chunk;
  }
  if (last) releaseBuffer(last);
}

/** The initial size of a buffer is at least this. */
const minBytes = 16 * 1024;

/** One buffer for all chunks of a body: separate chunks would take the same memory again when joined. */
export class GrowingBytes implements Disposable {
  #buffer: Buffer<ArrayBuffer>;
  #length = 0;

  /** `expected`: the length if it is known; the system assigns the memory as bytes are written. */
  constructor(expected: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(expected, minBytes));
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(chunk: BorrowedBytes): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#grow(Math.max(length, this.#buffer.length * 2));
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  /** Releases the memory. The bytes are empty then. */
  [Symbol.dispose](): void {
    releaseBuffer(this.#buffer);
  }

  #grow(size: number): void {
    const before = this.#buffer;
    this.#buffer = Buffer.allocUnsafeSlow(size);
    before.copy(this.#buffer, 0, 0, this.#length);
    releaseBuffer(before);
  }
}
