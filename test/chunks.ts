/** Bytes split into chunks, as they may arrive over a socket, and chunks joined into bytes. */

import { type BorrowedChunks, copyOf } from "../server/lib/borrowed-bytes.ts";
import { ChunkedBytes } from "../server/lib/chunked-bytes.ts";

export const readAll = async (chunks: BorrowedChunks): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(chunks, copyOf));

export function splitIntoChunks(bytes: Buffer, cuts: readonly number[]): ChunkedBytes {
  const offsets = [...new Set(cuts.filter((cut) => cut > 0 && cut < bytes.length))];
  const boundaries = [0, ...offsets.sort((a, b) => a - b), bytes.length];
  return new ChunkedBytes(boundaries.slice(1).map((to, at) => bytes.subarray(boundaries[at], to)));
}
