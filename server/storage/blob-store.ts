/** Storage of images that clients get as links. Local disk today; an object store could implement the same interface. */

/** Bytes, or a stretch of a file that is read while it is kept: as it is, or as the base64 in which it came. */
export type BlobSource = Uint8Array | StreamedSource;

export interface StreamedSource {
  readonly encoding: "raw" | "base64";
  /** As it comes, before it is decoded. */
  readonly length: number;
  stream(): AsyncIterable<Uint8Array>;
}

export interface BlobMetadata {
  readonly type: string;
  /** How long it can be found. */
  readonly ttlMs: number;
}

export interface PutBlob {
  /** Unguessable, and safe in a URL. */
  readonly name: string;
  /** Unix seconds. */
  readonly expires: number;
}

export interface FoundBlob {
  readonly type: string;
  readonly size: number;
  /** Not read before it is sent; a slice of it is read in part. */
  readonly content: Blob;
}

export interface BlobStore {
  /** Kept whole or not at all, and never whole in memory. Throws GatewayError. */
  put(source: BlobSource, about: BlobMetadata): Promise<PutBlob>;
  /** Undefined when there is none of this name, or no longer. */
  find(name: string): Promise<FoundBlob | undefined>;
  /** Takes out what has expired. */
  sweep(): Promise<void>;
}
