/** One buffer for all chunks of a body: separate chunks would take the same memory again when joined. */
import { freeBuffer } from "./spill-buffer.ts";

const minBytes = 16 * 1024;
/** A buffer is replaced by a smaller one if it is larger than this, and mostly unused. */
const keptBytes = 1024 * 1024;

export class GrowingBytes {
  #buffer: Buffer<ArrayBuffer>;
  #length = 0;

  /** `expected`: the expected length; the system assigns the memory as bytes are written. */
  constructor(expected: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(expected, minBytes)) as Buffer<ArrayBuffer>;
  }

  get filled(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#move(0, Math.max(length, this.#buffer.length * 2));
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  /** Removes the first bytes. */
  drop(count: number): void {
    const left = this.#length - count;
    if (this.#buffer.length > keptBytes && left < keptBytes / 2) this.#move(count, keptBytes);
    else this.#buffer.copyWithin(0, count, this.#length);
    this.#length = left;
  }

  /** The memory must not wait for the garbage collector. */
  free(): void {
    freeBuffer(this.#buffer.buffer);
    this.#length = 0;
  }

  #move(from: number, size: number): void {
    const buffer = Buffer.allocUnsafeSlow(size) as Buffer<ArrayBuffer>;
    this.#buffer.copy(buffer, 0, from, this.#length);
    freeBuffer(this.#buffer.buffer);
    this.#buffer = buffer;
  }
}
