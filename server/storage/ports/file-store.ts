/**
 * Port: files by name, in the data folder or in an object store: what clients upload, and the results of jobs. A name
 * may have folders, such as `jobs/job_1/0.jsonl`.
 */
import type { BorrowedBytes } from "../../lib/borrowed-bytes.ts";
import type { DiskUse } from "../../temp-storage/disk-reserve.ts";

export interface FoundFile {
  readonly size: number;
  /** The bytes from `from`, inclusive, to `to`, exclusive. If absent, from the beginning, to the end. */
  read(from?: number, to?: number): ReadableStream<Uint8Array>;
}

export type FileChunks = AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>;

/** Bytes on the local disk that have no name yet. It must be discarded, also after it was stored. */
export interface Draft {
  readonly size: number;
  /** Rejects with GatewayError. */
  store(name: string): Promise<void>;
  /** Never rejects. */
  discard(): Promise<void>;
}

export interface FileStore {
  /**
   * Writes the bytes to the local disk, with a chunk at a time in memory. `use`: how much of the disk reserve must stay
   * free. Rejects with GatewayError or the error of the source.
   */
  draft(chunks: FileChunks, use: DiskUse): Promise<Draft>;
  /** Stores the file completely or not at all, from a draft. Returns its size. Absent `use`: as a response. */
  write(name: string, chunks: FileChunks, use?: DiskUse): Promise<number>;
  /** Undefined if it does not exist. */
  find(name: string): Promise<FoundFile | undefined>;
  /** All files below a folder, in the order of their names. */
  list(folder: string): Promise<readonly { readonly name: string; readonly size: number }[]>;
  /** Also resolves if it does not exist. */
  remove(name: string): Promise<void>;
  removeFolder(folder: string): Promise<void>;
  /** Deletes files that a process which has ended did not complete. */
  sweep(): Promise<void>;
}
