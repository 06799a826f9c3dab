/** An embeddings answer as OpenAI writes it. Put together by hand: a vector is thousands of signs that need no escaping. */
import type { EmbeddingsQuery, EmbeddingsReply, Vector } from "../upstream/contract.ts";
import { printNumbers, toBase64 } from "./vectors.ts";

/** Of one vector at least. In parts: joining them would copy each vector once more, and most answers are small enough to leave without that. */
export function writeVectors(
  { vectors, usage }: EmbeddingsReply,
  { model, encoding }: EmbeddingsQuery,
): string[] {
  const tokens = usage?.inputTokens;
  // Where the upstream does not say, null: a made-up 0 would be a lie.
  const told = tokens === undefined ? null : `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  const end = `],"model":${JSON.stringify(model)},"usage":${told}}`;
  return encoding === "base64" ? inBase64(vectors, end) : inNumbers(vectors, end);
}

const entry = (index: number): string => `{"object":"embedding","index":${index},"embedding":`;
const begin = `{"object":"list","data":[${entry(0)}`;

function inBase64(vectors: readonly Vector[], end: string): string[] {
  const parts = [`${begin}"`];
  for (let at = 0; at < vectors.length; at++) {
    if (at > 0) parts.push(`"},${entry(at)}"`);
    parts.push(toBase64(vectors[at] as Vector));
  }
  parts.push(`"}${end}`);
  return parts;
}

function inNumbers(vectors: readonly Vector[], end: string): string[] {
  const parts = [begin];
  for (let at = 0; at < vectors.length; at++) {
    if (at > 0) parts.push(`},${entry(at)}`);
    parts.push(printNumbers(vectors[at] as Vector));
  }
  parts.push(`}${end}`);
  return parts;
}
