/** Tokenizes text by a tokenizer.json. Agrees id for id with Hugging Face's own tokenizers. */
import { Tokenizer, WordPiece } from "@huggingface/tokenizers";
import type { TextTokenizer } from "../messages.ts";

export function createTokenizer(
  file: object,
  config: object,
  { lowercase = false } = {},
): TextTokenizer {
  // MiniLM's file truncates and pads to 128. The gateway applies its own limit, and padding depends on the batch.
  const tokenizer = new Tokenizer({ ...file, truncation: null, padding: null }, config);
  if (tokenizer.model instanceof WordPiece) boundPieces(tokenizer.model);
  const encode = (text: string, special: boolean) =>
    tokenizer.encode(lowercase ? text.toLowerCase() : text, { add_special_tokens: special }).ids;
  const closing = closingTokens(encode("a", true), encode("a", false));
  return {
    encode: (text) => encode(text, true),
    cut: (ids, length) =>
      ids.length <= length
        ? [...ids]
        : [...ids.slice(0, length - closing), ...ids.slice(ids.length - closing)],
  };
}

/** How many special tokens end every text, such as BERT's one [SEP]. */
function closingTokens(withSpecial: readonly number[], without: readonly number[]): number {
  const start = withSpecial.findIndex((_, at) =>
    without.every((id, i) => withSpecial[at + i] === id),
  );
  return start < 0 ? 0 : withSpecial.length - start - without.length;
}

/**
 * Replaces the library's search for the pieces of a word, and finds the same. The library tries pieces of every length,
 * which takes seconds for a text of words of 99 letters; no piece is longer than the longest token.
 */
function boundPieces(model: WordPiece): void {
  const { tokens_to_ids: ids, max_input_chars_per_word: maxLength, config } = model;
  const { unk_token: unknown = "[UNK]", continuing_subword_prefix: prefix = "##" } = config;
  const longest = ids.keys().reduce((length, token) => Math.max(length, token.length), 0);
  /** The end of the longest piece that starts here. No token ends within a surrogate pair. */
  const endOf = (word: string, start: number): number => {
    const mark = start > 0 ? prefix : "";
    let end = Math.min(word.length, start + longest);
    while (end > start && !ids.has(mark + word.slice(start, end))) end--;
    return end;
  };
  model.encode = (words) =>
    words.flatMap((word) => {
      if (word.length > maxLength && [...word].length > maxLength) return unknown;
      const pieces: string[] = [];
      for (let start = 0, end = 0; start < word.length; start = end) {
        end = endOf(word, start);
        if (end === start) return unknown;
        pieces.push((start > 0 ? prefix : "") + word.slice(start, end));
      }
      return pieces;
    });
}
