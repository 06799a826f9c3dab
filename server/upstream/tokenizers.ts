/** Tokens -> the text they stand for, for upstreams that take texts only. */

export type TokenizerName = "cl100k_base";

// gpt-tokenizer, because its tables come without its encoder. A table is loaded when first needed and then stays: 18 MB,
// and 0.1 s for loading it (Bun 1.4, x64). The encoder is not used: a text of 200,000 letters without a space kept it busy
// for two and a half minutes. `count-tokens.ts` counts within a bound.
const tables = {
  cl100k_base: () => import("gpt-tokenizer/bpeRanks/cl100k_base"),
} as const satisfies Record<TokenizerName, unknown>;

/** By token: its text, or its bytes where these are only a part of a character. */
export async function tableOf(
  tokenizer: TokenizerName,
): Promise<readonly (string | readonly number[] | undefined)[]> {
  return (await tables[tokenizer]()).default;
}

const bytesOf = new TextEncoder();
// A mark at the beginning is part of the text.
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Undefined where no text says the same: a number that is no token, a token with a meaning instead of a text (such as
 * <|endoftext|>), or tokens cut in the middle of a character. The library's own `decode` would drop or replace these.
 */
export async function decode(
  tokenizer: TokenizerName,
  tokens: readonly number[],
): Promise<string | undefined> {
  const table = await tableOf(tokenizer);
  const pieces: (string | readonly number[])[] = [];
  for (const token of tokens) {
    const piece = table[token];
    if (piece === undefined) return undefined;
    pieces.push(piece);
  }
  // Only tokens that are parts of characters are bytes, and most texts have none.
  return pieces.every((piece) => typeof piece === "string") ? pieces.join("") : join(pieces);
}

function join(pieces: readonly (string | readonly number[])[]): string | undefined {
  const bytes = pieces.flatMap((piece) =>
    typeof piece === "string" ? [...bytesOf.encode(piece)] : piece,
  );
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}
