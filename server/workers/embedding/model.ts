/** An embedding model as the child process sees it, whichever runtime computes it. */

export interface Tokenized {
  readonly text: string;
  /** With the special tokens around it, within the model's limit. */
  readonly ids: readonly number[];
}

export interface Model {
  readonly runtime: "native" | "wasm";
  /** Why it is not the faster runtime. */
  readonly because?: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly tokenizer: TextTokenizer;
  /** One vector after the other. A vector never depends on its neighbours in the batch. */
  embed(batch: readonly Tokenized[]): Promise<Float32Array>;
}

export interface TextTokenizer {
  /** Without a limit. The ids carry the special tokens, such as [CLS] and [SEP]. */
  encode(text: string): number[];
  /** Shortens what `encode` gave, and keeps the special tokens where they belong. */
  cut(ids: readonly number[], length: number): number[];
}
