/**
 * The load of an embeddings request (inputs, tokens, bytes), and its split into parts within the limits of a target.
 */
import type { EmbeddingCapabilities, EmbeddingInput } from "../upstream/contract.ts";

export interface RequestLoad {
  readonly items: number;
  /** Exact for arrays of tokens, an estimate for texts. */
  readonly tokens: number;
  /** Bytes of texts in UTF-8. */
  readonly bytes: number;
}

/** The strictest limits among these targets. Infinity if no target has a limit. */
export function limitsOf(all: readonly EmbeddingCapabilities[]): RequestLoad {
  let [items, tokens, bytes] = [Infinity, Infinity, Infinity];
  for (const { maxItems, maxTokens = Infinity, maxBytes = Infinity } of all) {
    items = Math.min(items, maxItems);
    tokens = Math.min(tokens, maxTokens);
    bytes = Math.min(bytes, maxBytes);
  }
  return { items, tokens, bytes };
}

export const itemsOf = (input: EmbeddingInput): number =>
  input.kind === "text" ? input.texts.length : input.tokens.length;

export function loadOf(input: EmbeddingInput): RequestLoad {
  const items = itemsOf(input);
  let [tokens, bytes] = [0, 0];
  for (let at = 0; at < items; at++) {
    const more = bytesAt(input, at);
    bytes += more;
    tokens += tokensAt(input, at, more);
  }
  return { items, tokens, bytes };
}

const bytesAt = (input: EmbeddingInput, at: number): number =>
  input.kind === "text" ? Buffer.byteLength(input.texts[at] ?? "") : 0;

/**
 * Estimate for text: one token for four ASCII characters, three quarters of a token for each two-byte letter (Greek,
 * Cyrillic, Arabic), five quarters for each three-byte character (Chinese, Hindi). Vocabularies differ and no tokenizer
 * runs, so it may be wrong; then the upstream refuses the request, and it is split into smaller parts.
 */
function tokensAt(input: EmbeddingInput, at: number, bytes: number): number {
  if (input.kind === "tokens") return input.tokens[at]?.length ?? 0;
  const { length } = input.texts[at] ?? "";
  return Math.ceil(length / 4 + (bytes - length) / 2);
}

export interface InputRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** In order, each within the limits. An input that exceeds them by itself is sent alone: the upstream decides. */
export function splitIntoRanges(input: EmbeddingInput, limits: RequestLoad): InputRange[] {
  const count = itemsOf(input);
  // Equal parts: they are sent concurrently, and the response waits for the longest.
  const most = Math.ceil(count / Math.ceil(count / limits.items));
  const ranges: InputRange[] = [];
  let [from, tokens, bytes] = [0, 0, 0];
  for (let at = 0; at < count; at++) {
    const moreBytes = bytesAt(input, at);
    const moreTokens = tokensAt(input, at, moreBytes);
    const full =
      at - from >= most || tokens + moreTokens > limits.tokens || bytes + moreBytes > limits.bytes;
    if (full && at > from) {
      ranges.push({ from, to: at });
      [from, tokens, bytes] = [at, 0, 0];
    }
    tokens += moreTokens;
    bytes += moreBytes;
  }
  ranges.push({ from, to: count });
  return ranges;
}

export const inputsIn = (input: EmbeddingInput, { from, to }: InputRange): EmbeddingInput =>
  input.kind === "text"
    ? { kind: "text", texts: input.texts.slice(from, to) }
    : { kind: "tokens", tokens: input.tokens.slice(from, to) };
