/** Tokenizes text by a tokenizer.json. Agrees id for id with Hugging Face's own tokenizers. */
import { Tokenizer } from "@huggingface/tokenizers";
import type { TextTokenizer } from "../messages.ts";

export function createTokenizer(
  file: object,
  config: object,
  { lowercase = false } = {},
): TextTokenizer {
  // MiniLM's file truncates and pads to 128. The gateway applies its own limit, and padding depends on the batch.
  const tokenizer = new Tokenizer({ ...file, truncation: null, padding: null }, config);
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
