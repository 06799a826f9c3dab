/** An embedding model as the child process sees it, whichever runtime computes it. */

export interface Tokenized {
  readonly text: string;
  /** With the special tokens around it, within the model's limit. */
  readonly ids: readonly number[];
}

export interface Model {
  readonly runtime: "native" | "wasm";
  /** Why the faster runtime is not used. */
  readonly because?: string;
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
