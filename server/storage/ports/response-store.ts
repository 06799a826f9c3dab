/**
 * Response store: the interface to stored responses, which are replayed for idempotent requests.
 *
 * `begin` and `append` are synchronous because a chunk is borrowed: its memory may be reused as soon as `append`
 * returns, and the first chunk begins the file. Every implementation therefore writes to the local disk first, and
 * `commit` copies the response to the object store. Errors are thrown; the response is then not stored, and the
 * idempotency store logs why.
 */

import type { BorrowedBytes } from "../../lib/borrowed-bytes.ts";

/** Metadata that is stored with a response, to replay it. */
export interface ResponseMetadata {
  readonly requestId: string;
  /** The fingerprint of the request, to detect a different request with the same idempotency key. */
  readonly fingerprint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The gateway stopped before the request had a response, and its images may have been billed. */
  readonly isAbandoned?: true;
}

export interface StoredResponse extends ResponseMetadata {
  readonly length: number;
  open(): AsyncIterable<Uint8Array>;
}

/** Writes a response to disk. */
export interface ResponseWriter {
  /** Throws GatewayError if there is no space, or the error of the file system. */
  append(chunk: string | BorrowedBytes): void;
  /** Publishes the response under these names (lookup keys), in place of earlier responses. Called once. */
  commit(names: readonly string[], metadata: ResponseMetadata): Promise<void>;
  discard(): Promise<void>;
}

export interface ResponseStore {
  /**
   * Throws GatewayError if there is no space for another response of this API key. Called before an upstream is paid
   * for a response that must be stored.
   */
  ensureSpace(owner: string): void;
  /** `owner`: the API key whose share of the space the response uses. Throws the file system's errors. */
  begin(owner: string): ResponseWriter;
  /** Undefined when no response has this name, or when it has expired. */
  find(name: string): Promise<StoredResponse | undefined>;
}
