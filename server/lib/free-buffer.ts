/** Frees the memory of a buffer without waiting for the garbage collector. */

/** Smaller buffers may be parts of a pool that other buffers share. */
const sharedBytes = 16 * 1024;

/** Frees the memory of a buffer now. Several chunks may share a buffer: freeing it again has no effect. */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (buffer.byteLength >= sharedBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
