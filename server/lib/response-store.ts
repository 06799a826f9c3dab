/** Where answers are kept for a while, for callers who ask again: what the shelf promises to those who use it. */

/** What must be known of an answer to give it again. */
export interface ResponseMetadata {
  readonly requestId: string;
  /** Of the question, so that another question under the same name is found out. */
  readonly fingerprint: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface StoredResponse extends ResponseMetadata {
  readonly length: number;
  open(): AsyncIterable<Uint8Array>;
}

/** An answer on its way to disk. */
export interface ResponseWriter {
  append(piece: string | Uint8Array): void;
  /** From now on it is found under these names, and under those given before. */
  commit(names: readonly string[], facts: ResponseMetadata): Promise<void>;
  discard(): Promise<void>;
}

export interface ResponseStore {
  /** Throws what the disk throws. */
  begin(): ResponseWriter;
  /** Undefined when there is none, or no longer. */
  find(name: string): Promise<StoredResponse | undefined>;
}
