/**
 * Who owns the memory of bytes. `Uint8Array` means owned bytes: they stay valid, and may be kept. `BorrowedBytes` are
 * lent, and the compiler refuses them where owned bytes are required.
 */

/**
 * Bytes that are lent: a chunk is valid only until the next chunk of its stream is requested, and an argument only until
 * the call ends. Then their buffer is overwritten or freed. A supertype of `Uint8Array`, so owned bytes can be lent
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

/** The next chunk is requested only after the last one was used. */
export type BorrowedChunks = AsyncIterable<BorrowedBytes>;

export const copyOf = (bytes: BorrowedBytes): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

export const joinCopies = (parts: readonly BorrowedBytes[]): Buffer<ArrayBuffer> =>
  Buffer.concat(parts as readonly Uint8Array[]);

/**
 * The same bytes, for code that does not keep them beyond the loan: the compiler does not check it. For calls of the
 * runtime's functions, which take a `Uint8Array`.
 */
export const viewOf = (bytes: BorrowedBytes): Uint8Array => bytes as Uint8Array;
