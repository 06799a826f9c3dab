/**
 * Token counting: estimated counts for texts whose upstream reports no usage. Counted with cl100k_base, the vocabulary
 * of OpenAI's embedding models: exact for these, and the nearest known count for any other model. For `usage` on the
 * wire only.
 */
import { tokenTable } from "./tokenizers.ts";

/**
 * The most UTF-16 units that are tokenized for one response. Longer texts are extrapolated from that part, so that a
 * large request does not block the event loop: 16 K of prose take 3 ms, of the worst text 20 to 50 ms (Bun 1.4, x64).
 */
const maxTokenized = 16 * 1024;

/**
 * Merging is quadratic in the length of a word. Longer ones are cut, at a cost of at most one extra token for each cut.
 */
const maxWordBytes = 128;

/** How cl100k_base splits a text into words (openai/tiktoken, tiktoken_ext/openai_public.py). Tokens never span two. */
const message =
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
    if (rank % tokensPerTurn === 0) await new Promise(setImmediate);
    if (token !== undefined) ranks.set(Buffer.from(token as string).toString("latin1"), rank);
  }
  return ranks;
}

/** At least one token for each text. */
export async function countTokens(texts: readonly string[]): Promise<number> {
  // At the first use, since most upstreams report their usage: 0.2 s and 40 MB.
  const ranks = await ranksOnce();
  let total = 0;
  let tokenized = 0;
  let tokens = 0;
  for (const text of texts) {
    total += text.length;
    if (tokenized >= maxTokenized) continue;
    const part = text.slice(0, maxTokenized - tokenized);
    tokenized += part.length;
    for (const [word] of part.matchAll(message)) tokens += countInWord(word, ranks);
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

/** Byte pair encoding: of all neighbors that make a token together, those of the lowest rank are joined first. */
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
