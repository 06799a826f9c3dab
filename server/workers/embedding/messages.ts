/** What the gateway asks of an embedding model's process, and what comes back. */

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** What the caller wants; only the model's own length is possible. */
  readonly dimensions?: number;
  /** May a text that is too long be cut? */
  readonly truncate: boolean;
}

export interface EmbedResponsePart {
  /** Which of the texts these are. */
  readonly places: readonly number[];
  /** One vector after the other. Small parts, because a large message would hold up the gateway's event loop. */
  readonly vectors: Float32Array;
  /** Of each of these texts: what the model read, [CLS] and [SEP] included, padding not, and no more than its limit. */
  readonly tokens: readonly number[];
}

export interface EmbedSpec {
  readonly model: MinilmSpec | DirectorySpec;
  /** What `auto` finds missing in onnxruntime it makes up for in WebAssembly, where there is a way. */
  readonly runtime: "auto" | "native" | "wasm";
  /** The module to load as onnxruntime. */
  readonly onnxruntime: string;
  /** Absent: all cores but one, at most four. */
  readonly threads?: number;
}

export interface MinilmSpec {
  readonly kind: "minilm";
  /** Absent: where the package of the weights is installed. */
  readonly path?: string;
}

export interface DirectorySpec {
  readonly kind: "directory";
  readonly path: string;
  readonly pooling?: "mean" | "cls";
  readonly normalize?: boolean;
  readonly maxTokens?: number;
}

/**
 * Only so much of a text is read. 256 tokens are some 1,200 characters; without a bound,
 * a text made for the purpose (a megabyte of 99-letter words) would keep the tokenizer busy for half a minute.
 */
export const maxCharacters = 32_768;
