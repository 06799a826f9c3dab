/**
 * Tokenizers: decode token arrays into text, for upstreams that take only text, and count the tokens of texts whose
 * upstream reports no usage. The token count is by cl100k_base, the vocabulary of OpenAI's embedding models: exact for
 * these, and the nearest known count for any other model. For `usage` on the wire only.
 */
import { isUtf8 } from "node:buffer";
import { nextTurn } from "../lib/tasks.ts";

/**
 * The maximum number of UTF-16 units that are tokenized for one response. The count of longer texts is extrapolated, so
 * that a large request does not block the event loop: 16 K of prose take 3 ms, of the worst text 20 to 50 ms (Bun 1.4,
 * x64).
 */
const maxTokenized = 16 * 1024;

/**
 * Merging is quadratic in the length of a word. Longer ones are cut, at a cost of at most one extra token for each cut.
 */
const maxWordBytes = 128;

/**
 * How cl100k_base splits a text into words (openai/tiktoken, tiktoken_ext/openai_public.py). A token never spans two
 * words.
 */
const wordPattern =
  /'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu;

/** By the token's bytes, as a latin1 string. */
type Ranks = ReadonlyMap<string, number>;

const tokensPerTurn = 2048;

let loading: Promise<Ranks> | undefined;

/** Loaded once. After a failure the next response tries again. */
function ranksOnce(): Promise<Ranks> {
  loading ??= loadRanks().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function loadRanks(): Promise<Ranks> {
  const ranks = new Map<string, number>();
  for (const [rank, token] of (await tokenTable("cl100k_base")).entries()) {
    // Other requests get their turn: all 100,000 tokens take 0.2 s.
    if (rank % tokensPerTurn === 0) await nextTurn();
    if (token !== undefined) ranks.set(Buffer.from(token as string).toString("latin1"), rank);
  }
  return ranks;
}

/** At least one token for each text. */
export async function countTokens(texts: readonly string[]): Promise<number> {
  // Loaded at the first use, since most upstreams report their usage: 0.2 s and 40 MB.
  const ranks = await ranksOnce();
  let total = 0;
  let tokenized = 0;
  let tokens = 0;
  for (const text of texts) {
    total += text.length;
    if (tokenized >= maxTokenized) continue;
    const part = text.slice(0, maxTokenized - tokenized);
    tokenized += part.length;
    for (const [word] of part.matchAll(wordPattern)) tokens += countInWord(word, ranks);
  }
  const estimate = tokenized < total ? Math.ceil((tokens * total) / tokenized) : tokens;
  return Math.max(estimate, texts.length);
}

function countInWord(word: string, ranks: Ranks): number {
  const bytes = Buffer.from(word).toString("latin1");
  if (ranks.has(bytes)) return 1;
  let tokens = 0;
  for (let from = 0; from < bytes.length; from += maxWordBytes) {
    tokens += merge(bytes.slice(from, from + maxWordBytes), ranks);
  }
  return tokens;
}

/** Byte pair encoding: of all neighbors that form a token together, the pair with the lowest rank is merged first. */
function merge(bytes: string, ranks: Ranks): number {
  const starts = Array.from({ length: bytes.length + 1 }, (_, at) => at);
  const pairRank = (at: number): number =>
    at + 2 < starts.length
      ? (ranks.get(bytes.slice(starts[at], starts[at + 2])) ?? Infinity)
      : Infinity;
  const pairs = starts.map((_, at) => pairRank(at));
  for (;;) {
    let lowest = 0;
    for (let at = 1; at < pairs.length; at++) if (pairs[at]! < pairs[lowest]!) lowest = at;
    if (pairs[lowest] === Infinity) return starts.length - 1;
    starts.splice(lowest + 1, 1);
    pairs.splice(lowest + 1, 1);
    pairs[lowest] = pairRank(lowest);
    if (lowest > 0) pairs[lowest - 1] = pairRank(lowest - 1);
  }
}

export type TokenizerName = "cl100k_base";

// gpt-tokenizer, because its tables can be imported without its encoder. A table is loaded when first needed and stays
// in memory: 18 MB, and 0.1 s for loading it (Bun 1.4, x64). The encoder takes two and a half minutes for a text of
// 200,000 letters without a space, so `countTokens`, whose time is bounded, replaces it.
const tables = {
  cl100k_base: () => import("gpt-tokenizer/bpeRanks/cl100k_base"),
} as const satisfies Record<TokenizerName, unknown>;

/** By token: its text, or its bytes if they are only a part of a character. */
async function tokenTable(
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

/** Describes the first token that has no text. Undefined if each token has a text, but together they have none. */
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
  const parts: (string | readonly number[])[] = [];
  let areTexts = true;
  for (const token of tokens) {
    const part = table[token];
    if (part === undefined) return undefined;
    // Only tokens that are parts of characters have bytes, and most texts have no such token.
    areTexts &&= typeof part === "string";
    parts.push(part);
  }
  return areTexts ? parts.join("") : join(parts);
}

function join(parts: readonly (string | readonly number[])[]): string | undefined {
  const buffers = parts.map((part) =>
    typeof part === "string" ? Buffer.from(part) : Buffer.from(part as number[]),
  );
  const bytes = wholeCharacters(Buffer.concat(buffers));
  if (bytes.length === 0) return "\uFFFD";
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;

/** Length in bytes of a UTF-8 character, by its first byte. */
function lengthFrom(byte: number): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

/** Drops an incomplete character at the beginning and at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  let from = 0;
  while (from < 3 && isContinuation(bytes[from])) from++;
  let last = bytes.length - 1;
  while (last > from && bytes.length - last < 4 && isContinuation(bytes[last])) last--;
  const isCut = last >= from && last + lengthFrom(bytes[last] as number) > bytes.length;
  return bytes.subarray(from, isCut ? last : bytes.length);
}
