/**
 * Port: files by name, in the data folder or in an object store: what clients upload, and the results of jobs. A name
 * may have folders, such as `jobs/job_1/0.jsonl`.
 */
import type { BorrowedBytes } from "../../lib/borrowed-bytes.ts";
import type { DiskUse } from "../../temp-storage/disk-reserve.ts";

export interface FoundFile {
  readonly size: number;
  /** The bytes from `from`, inclusive, to `to`, exclusive. Absent: from the beginning, to the end. */
  read(from?: number, to?: number): ReadableStream<Uint8Array>;
}

export type FileChunks = AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>;

export interface FileStore {
  /**
   * Stores the file completely or not at all, with a chunk at a time in memory. Returns its size. `use`: how much of
   * the disk reserve it must leave free; absent: as a response. Rejects with GatewayError or the error of the source.
   */
  write(name: string, chunks: FileChunks, use?: DiskUse): Promise<number>;
  /** Undefined: it does not exist. */
  find(name: string): Promise<FoundFile | undefined>;
  /** All files below a folder, in the order of their names. */
  list(folder: string): Promise<readonly { readonly name: string; readonly size: number }[]>;
  /** Also resolves if it does not exist. */
  remove(name: string): Promise<void>;
  removeFolder(folder: string): Promise<void>;
  /** Deletes files that a process which has ended did not complete. */
  sweep(): Promise<void>;
}
