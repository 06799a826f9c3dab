/** IPC messages between the gateway and the process of an embedding model, and the description of a model. */

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** Requested by the client; only the model's own length is possible. */
  readonly dimensions?: number;
  /** Whether texts that are too long are truncated. */
  readonly truncate: boolean;
}

export interface EmbedResponsePart {
  /** The indexes of the texts. */
  readonly indexes: readonly number[];
  /** The vectors, concatenated. Small parts, because a large message would block the gateway's event loop. */
  readonly vectors: Float32Array;
  /** Tokens of each text: with [CLS] and [SEP], without padding, at most the model's limit. */
  readonly tokens: readonly number[];
}

export interface EmbedSpec {
  readonly model: MinilmSpec | DirectorySpec;
  /** `auto` falls back from onnxruntime to WebAssembly where that is possible. */
  readonly runtime: "auto" | "native" | "wasm";
  /** The module to load as onnxruntime. */
  readonly onnxruntime: string;
}

export interface MinilmSpec {
  readonly kind: "minilm";
  /** The default is the directory of the installed package. */
  readonly path?: string;
}

export interface DirectorySpec {
  readonly kind: "directory";
  readonly path: string;
  readonly pooling?: "mean" | "cls" | undefined;
  readonly normalize?: boolean | undefined;
  readonly maxTokens?: number | undefined;
}

/**
 * The tokenizer reads at most this many characters of a text. 256 tokens are some 1,200 characters; without a bound, a
 * malicious text (a megabyte of 99-letter words) would block the tokenizer for seconds.
 */
export const maxCharacters = 32_768;

export interface Tokenized {
  readonly text: string;
  /** With the special tokens around it, within the model's limit. */
  readonly ids: readonly number[];
}

/** An embedding model as the child process sees it, whichever runtime computes it. */
export interface LoadedModel {
  readonly runtime: "native" | "wasm";
  /** Why the faster runtime is not used. */
  readonly fallbackReason?: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly tokenizer: TextTokenizer;
  /** The vectors, concatenated. A vector never depends on the other texts of its batch. */
  embed(batch: readonly Tokenized[]): Promise<Float32Array>;
}

export interface TextTokenizer {
  /** Without a limit. The ids carry the special tokens, such as [CLS] and [SEP]. */
  encode(text: string): number[];
  /** Truncates token ids, and keeps the special tokens. */
  cut(ids: readonly number[], length: number): number[];
}
