/** Tokenizer tables (BPE): decodes token arrays into text, for upstreams that take only text. */
import { isUtf8 } from "node:buffer";

export type TokenizerName = "cl100k_base";

// gpt-tokenizer, because its tables come without its encoder. A table is loaded when first needed and then stays: 18
// MB, and 0.1 s for loading it (Bun 1.4, x64). The encoder is not used: a text of 200,000 letters without a space kept
// it busy for two and a half minutes. `count-tokens.ts` counts within a bound.
const tables = {
  cl100k_base: () => import("gpt-tokenizer/bpeRanks/cl100k_base"),
} as const satisfies Record<TokenizerName, unknown>;

/** By token: its text, or its bytes if they are only a part of a character. */
export async function tokenTable(
  tokenizer: TokenizerName,
): Promise<readonly (string | readonly number[] | undefined)[]> {
  return (await tables[tokenizer]()).default;
}

/**
 * Special tokens, from openai/tiktoken `tiktoken_ext/openai_public.py`. They mark the structure of a prompt and are no
 * text: OpenAI's embeddings endpoint fails for them.
 */
const specialTokens: Readonly<Record<TokenizerName, Readonly<Record<number, string>>>> = {
  cl100k_base: {
    100257: "<|endoftext|>",
    100258: "<|fim_prefix|>",
    100259: "<|fim_middle|>",
    100260: "<|fim_suffix|>",
    100276: "<|endofprompt|>",
  },
};

/** Describes the first token that has no text. Undefined where each has one, but not all of them together. */
export async function describeTokenWithoutText(
  tokenizer: TokenizerName,
  tokens: readonly number[],
): Promise<string | undefined> {
  const table = await tokenTable(tokenizer);
  const token = tokens.find((number) => table[number] === undefined);
  if (token === undefined) return undefined;
  const special = specialTokens[tokenizer][token];
  return special === undefined
    ? `${token}, which is not a token`
    : `${token}, the special token ${special}`;
}

/**
 * Undefined if no text encodes to these tokens: a number that is not a token, a special token (such as <|endoftext|>),
 * or bytes that are not valid UTF-8. The library's own `decode` would drop or replace these. Only a character that is
 * cut off at either end is left out: clients such as LangChain split long texts between tokens, and a rare character is
 * several tokens. If nothing else remains, as with a long run of emoji, the text is U+FFFD.
 */
export async function decode(
  tokenizer: TokenizerName,
  tokens: readonly number[],
): Promise<string | undefined> {
  const table = await tokenTable(tokenizer);
  const pieces: (string | readonly number[])[] = [];
  let areTexts = true;
  for (const token of tokens) {
    const piece = table[token];
    if (piece === undefined) return undefined;
    // Only tokens that are parts of characters have bytes, and most texts have no such token.
    areTexts &&= typeof piece === "string";
    pieces.push(piece);
  }
  return areTexts ? pieces.join("") : join(pieces);
}

function join(pieces: readonly (string | readonly number[])[]): string | undefined {
  const buffers = pieces.map((piece) =>
    typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece as number[]),
  );
  const bytes = wholeCharacters(Buffer.concat(buffers));
  if (bytes.length === 0) return "\uFFFD";
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;

/** Length in bytes of a UTF-8 character, by its first byte. */
const lengthFrom = (byte: number): number =>
  byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;

/** Drops an incomplete character at the beginning and at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  let from = 0;
  while (from < 3 && isContinuation(bytes[from])) from++;
  let last = bytes.length - 1;
  while (last > from && bytes.length - last < 4 && isContinuation(bytes[last])) last--;
  const isCut = last >= from && last + lengthFrom(bytes[last] as number) > bytes.length;
  return bytes.subarray(from, isCut ? last : bytes.length);
}
