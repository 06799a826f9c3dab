/**
 * Content store: prompts, inputs, vectors and images of requests, for models that store them.
 *
 * Writing is synchronous because a chunk is borrowed: its memory may be reused as soon as `append` returns. Every
 * implementation therefore writes to the local disk, and an object store is filled from there later. Errors are thrown,
 * and the recording of the request logs them.
 */

import type { BorrowedBytes } from "../../lib/borrowed-bytes.ts";

/** Writes the content of one request. */
export interface ContentWriter {
  /** Throws StoreFullError or the error of the file system. */
  append(chunk: string | BorrowedBytes): void;
  /** Publishes the content. Throws like `append`. */
  commit(): void;
  /** Deletes the content. Never throws. */
  discard(): void;
}

export interface FoundContent {
  /** Unix milliseconds. */
  readonly storedAt: number;
  /** Undefined if deleted meanwhile, or encrypted with another key. */
  read(): Promise<Buffer | undefined>;
}

export interface ExpiringContent extends FoundContent {
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** How long the content of each model is kept. Models that are not in the map keep none. */
export type RetentionMs = ReadonlyMap<string, number>;

export interface ContentStore {
  /** Throws StoreFullError or the error of the file system. */
  begin(model: string, requestId: string): ContentWriter;
  /** Undefined if not stored. */
  find(model: string, requestId: string): Promise<FoundContent | undefined>;
  /** Deletes the content of one request, also while it is being uploaded. */
  delete(model: string, requestId: string): Promise<void>;
  /** Deletes expired content, and the content of models that are not in `retentionMs`. */
  sweep(retentionMs: RetentionMs): Promise<void>;
}
