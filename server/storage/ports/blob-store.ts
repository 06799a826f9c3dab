/** Storage of images that clients get as links: in the data folder, or in an object store. */

import type { BorrowedChunks } from "../../lib/borrowed-bytes.ts";

/** Bytes, or a stream that is read while it is stored: raw, or base64 as it was received. */
export type BlobSource = Uint8Array | StreamedSource;

export interface StreamedSource {
  readonly encoding: "raw" | "base64";
  /** The length before decoding. */
  readonly length: number;
  stream(): BorrowedChunks;
}

export interface BlobMetadata {
  readonly type: string;
  /** The time to live. */
  readonly ttlMs: number;
}

export interface PutBlob {
  /** Unguessable, and safe in a URL. */
  readonly name: string;
  /** Unix seconds. */
  readonly expires: number;
  /** A link that the store itself serves. If absent, the gateway serves the blob. */
  readonly url?: string;
}

export interface FoundBlob {
  readonly type: string;
  readonly size: number;
  /** Read when it is sent; a slice reads only its part. Its own `size` may be unknown. */
  readonly content: Blob;
}

export interface BlobStore {
  /** Stores the blob completely or not at all, without holding it in memory. Throws GatewayError. */
  put(source: BlobSource, about: BlobMetadata): Promise<PutBlob>;
  /** Undefined if not stored, or expired. */
  find(name: string): Promise<FoundBlob | undefined>;
  /** Deletes expired blobs. */
  sweep(): Promise<void>;
}
