/**
 * The ownership of bytes in memory. A `Uint8Array` may be kept. `BorrowedBytes` are lent: the compiler refuses them
 * where bytes are kept.
 */

/**
 * Bytes that are lent: a chunk is valid only until the next chunk of its stream is requested, and an argument only
 * until the call ends. Then their buffer is overwritten or released. A supertype of `Uint8Array`: owned bytes can be lent
 * without a cast, and at run time they are the same object. To keep borrowed bytes, copy them: `copyOf`, `joinCopies`,
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

/** A copy of all chunks. */
export async function copyAll(
  chunks: AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(copyOf(chunk));
  return Buffer.concat(parts);
}

/**
 * The same bytes for functions of the runtime, which require a `Uint8Array`. They must not be kept: here the compiler
 * cannot check it.
 */
export const viewOf = (bytes: BorrowedBytes): Uint8Array => bytes as Uint8Array;
