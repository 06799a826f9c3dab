/** Chunks joined into bytes. */

import { type BorrowedChunks, copyOf } from "../server/lib/borrowed-bytes.ts";

export const readAll = async (chunks: BorrowedChunks): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(chunks, copyOf));
